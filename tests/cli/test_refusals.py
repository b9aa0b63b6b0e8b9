"""A command that fails prints one line with the remedy, and its exit code names the kind of failure."""

import json
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from state import list_tasks
from tests.cli.command import CALLBOARD, callboard, environment, refusal, submit, succeed
from tests.support.postgres import TestPostgres

UNKNOWN = "tq_" + "0" * 32
UNREACHABLE = "postgresql://127.0.0.1:1/nobody"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["submit", "note", "{"], "not valid JSON"),
        (["submit", "note", "--set", 'seconds="many"'], "payload.seconds"),
        (["submit", "note", "--priority", "9"], "--priority"),
        (["submit", "note", "--delay", "-1"], "delay_seconds"),
        (["submit", "note", "--queue", ""], "queue"),
        (["submit"], "callboard submit --help"),
        (["list", "--status", "nonsense"], "--status"),
        (["list", "--limit", "0"], "--limit"),
        (["wtach", UNKNOWN], "watch"),
    ],
)
def test_bad_input(database_url: str, arguments: list[str], complaint: str) -> None:
    assert complaint in refusal(2, *arguments)
    assert list_tasks() == []


def test_unknown_actor_names_the_known_ones(database_url: str) -> None:
    line = refusal(3, "submit", "nonsense")
    assert "nonsense" in line
    assert "media_generation" in line


@pytest.mark.parametrize("command", ["show", "watch", "cancel"])
def test_unknown_task(database_url: str, command: str) -> None:
    assert UNKNOWN in refusal(3, command, UNKNOWN)
    assert "callboard list" in refusal(3, command, "nonsense", "--json")


def test_not_possible_in_this_status(database_url: str) -> None:
    task_id = submit("noop")
    succeed("cancel", task_id)
    assert "canceled" in refusal(4, "cancel", task_id)


def test_database_that_cannot_be_reached() -> None:
    for arguments in (["list"], ["migrate"], ["watch", UNKNOWN], ["submit", "noop"]):
        assert "make up" in refusal(5, *arguments, CALLBOARD_DATABASE_URL=UNREACHABLE)


def test_up_without_its_database(tmp_path: Path) -> None:
    where: dict[str, Any] = {
        "CALLBOARD_DATABASE_URL": UNREACHABLE, "CALLBOARD_DATA_DIR": tmp_path, "CALLBOARD_PORT": 0,
    }  # fmt: skip
    done = callboard("up", "--json", **where)
    assert (done.returncode, done.stdout) == (5, "")
    assert "cannot be reached" in done.stderr.splitlines()[-1]


def test_database_url_that_is_not_an_address() -> None:
    assert "CALLBOARD_DATABASE_URL" in refusal(2, "list", CALLBOARD_DATABASE_URL="nonsense")


def test_reading_creates_no_embedded_database(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    line = refusal(5, "list", CALLBOARD_DATABASE_URL=None, CALLBOARD_DATA_DIR=folder)
    assert "callboard migrate" in line
    assert not folder.exists()


def test_database_that_is_not_migrated(postgres: TestPostgres) -> None:
    postgres.execute("CREATE DATABASE bare")
    try:
        where = {"CALLBOARD_DATABASE_URL": postgres.url("bare")}
        assert "callboard migrate" in refusal(5, "list", **where)
        applied = json.loads(succeed("migrate", "--json", **where))["applied"]
        assert "tables/tasks" in applied
        assert json.loads(succeed("migrate", "--json", **where)) == {"applied": []}
        assert "up to date" in succeed("migrate", **where)
        assert "No tasks" in succeed("list", **where)
    finally:
        postgres.execute("DROP DATABASE bare WITH (FORCE)")


def test_bad_settings_are_named(database_url: str) -> None:
    done = callboard("list", CALLBOARD_PORT="high")
    assert done.returncode == 2
    assert "CALLBOARD_PORT" in done.stderr
    assert "Traceback" not in done.stderr
    done = callboard("up", OPENROUTER_TIMEOUT="soon")
    assert (done.returncode, done.stdout) == (2, "")
    assert "OPENROUTER_TIMEOUT: Input should be a valid number" in done.stderr


def test_actors_that_cannot_be_imported(database_url: str) -> None:
    for arguments in (["submit", "noop"], ["queues"], ["queues", "pause", "test"]):
        assert "no_such_module" in refusal(2, *arguments, CALLBOARD_ACTORS="no_such_module")


def test_ctrl_c_while_the_database_does_not_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://127.0.0.1:{silent.getsockname()[1]}/silent"
        command = subprocess.Popen(
            [CALLBOARD, "list"], stderr=subprocess.PIPE, text=True, env=environment(CALLBOARD_DATABASE_URL=url)
        )
        try:
            silent.settimeout(60)
            accepted, _ = silent.accept()
            with accepted:
                command.send_signal(signal.SIGINT)
                _, problem = command.communicate(timeout=60)
        finally:
            command.kill()
            command.wait()
    assert command.returncode == 130
    assert problem == ""


def test_debug_prints_a_traceback() -> None:
    done = callboard("list", CALLBOARD_DATABASE_URL=UNREACHABLE, CALLBOARD_LOG_LEVEL="debug")
    assert done.returncode == 5
    assert "Traceback" in done.stderr
    assert done.stdout == ""
