"""`callboard watch` follows real work to its end."""

import json
import os
import pty
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

import actors  # noqa: F401  (declares the kinds of work)
from state import cancel, get_events, get_task, submit
from tests.cli.command import CALLBOARD, callboard, environment
from tests.support import testactors  # noqa: F401
from tests.support.eventually import eventually
from tests.support.postgres import TestPostgres
from tests.support.workers import WorkerTree

Start = Callable[..., WorkerTree]


def watching(task_id: str, out: IO[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen([CALLBOARD, "watch", task_id, "--json"], stdout=out, env=environment())


def lines(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def seen(file: Path, kind: str) -> None:
    eventually(lambda: any(line["kind"] == kind for line in lines(file)), what=f"{kind} in {file}")


def assert_whole(seen_lines: list[dict], task_id: str) -> None:
    """A snapshot, every later line exactly once, done."""
    first, *events, last = seen_lines
    assert (first["kind"], last["kind"]) == ("snapshot", "done")
    expected = [event.n for event in get_events(task_id, after=first["n"])]
    assert [event["n"] for event in events] == expected
    assert last["n"] == get_task(task_id).last_event


def test_follows_a_running_task_to_its_end(worker: Start, tmp_path: Path):
    worker()
    task = submit("steps", {"seconds": 3})
    with (tmp_path / "out").open("w") as out, watching(task.task_id, out) as process:
        seen(tmp_path / "out", "progress")
        assert process.wait(30) == 0
    found = lines(tmp_path / "out")
    assert_whole(found, task.task_id)
    assert found[-1]["data"]["status"] == "completed"
    assert found[-1]["data"]["result"] == "done"


def test_survives_a_restart_of_the_database(worker: Start, tmp_path: Path, postgres: TestPostgres):
    worker()
    task = submit("steps", {"seconds": 6})
    with (tmp_path / "out").open("w") as out, watching(task.task_id, out) as process:
        seen(tmp_path / "out", "progress")
        postgres.restart("immediate")
        assert process.wait(60) == 0
    assert_whole(lines(tmp_path / "out"), task.task_id)


def test_exit_code_says_that_it_was_canceled(worker: Start, tmp_path: Path):
    worker()
    task = submit("steps", {"seconds": 60})
    with (tmp_path / "out").open("w") as out, watching(task.task_id, out) as process:
        seen(tmp_path / "out", "progress")
        cancel(task.task_id)
        assert process.wait(30) == 6
    assert lines(tmp_path / "out")[-1]["data"]["status"] == "canceled"


def test_exit_code_says_that_it_died(worker: Start):
    worker()
    done = callboard("submit", "fail", "--set", "text=no such luck", "--max-attempts", "1", "--watch")
    assert done.returncode == 1
    assert "dead" in done.stdout
    assert "RuntimeError: no such luck" in done.stdout


def test_submit_and_watch_in_plain_lines(worker: Start):
    worker()
    done = callboard("submit", "media_generation", "--set", "prompt=a lighthouse", "--set", "params.steps=4", "--watch")
    assert done.returncode == 0, done
    assert "queued -> running" in done.stdout
    assert "Step" in done.stdout
    assert "completed after" in done.stdout
    assert "/api/v1/contents/gc_" in done.stdout
    assert done.stderr == ""


def test_a_terminal_gets_a_live_bar(worker: Start):
    worker()
    command = [CALLBOARD, "submit", "media_generation", "--set", "prompt=a lighthouse", "--watch"]
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environment(TERM="xterm", COLUMNS="120"))
    os.close(theirs)
    drawn = b""
    try:
        while part := os.read(ours, 65536):
            drawn += part
    except OSError:  # the other side is closed
        pass
    os.close(ours)
    assert process.wait(30) == 0
    screen = drawn.decode()
    assert "running" in screen
    assert "━" in screen
    assert "Step" in screen
    assert "completed" in screen


def test_ctrl_c_ends_the_watching_and_not_the_task(worker: Start, tmp_path: Path):
    worker()
    task = submit("steps", {"seconds": 4})
    with (
        (tmp_path / "out").open("w") as out,
        (tmp_path / "err").open("w") as err,
        subprocess.Popen(
            [CALLBOARD, "watch", task.task_id, "--json"], stdout=out, stderr=err, env=environment()
        ) as process,
    ):
        seen(tmp_path / "out", "progress")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    assert f"callboard watch {task.task_id}" in (tmp_path / "err").read_text()
    assert eventually(lambda: get_task(task.task_id).finished and get_task(task.task_id)).status == "completed"


@pytest.mark.usefixtures("database_url")
def test_a_task_that_waits_is_watched_too(tmp_path: Path):
    """No worker runs: nothing happens until somebody cancels it."""
    task = submit("noop", {})
    with (tmp_path / "out").open("w") as out, watching(task.task_id, out) as process:
        seen(tmp_path / "out", "snapshot")
        cancel(task.task_id)
        assert process.wait(30) == 6
