"""The usual result of each command, with a database and without a worker."""

import json
from datetime import datetime
from pathlib import Path
from typing import get_args

import pytest

from deploy.cli.commands.list import StatusName
from state import get_task
from state.transitions import STATUSES
from tests.cli.command import answer, callboard, submit, succeed
from tests.support.eventually import eventually

pytestmark = pytest.mark.usefixtures("database_url")


def test_submit_stores_the_task_and_prints_its_id() -> None:
    task_id = submit("note", '{"text": "hello"}', "--set", "value=[1, 2]")
    task = get_task(task_id)
    assert (task.actor, task.status, task.queue) == ("note", "queued", "test")
    assert task.payload == {"file": None, "text": "hello", "seconds": 0, "value": [1, 2]}


def test_submit_passes_its_options_on(tmp_path: Path) -> None:
    file = tmp_path / "payload.json"
    file.write_text('{"text": "from a file"}')
    task = answer(
        "submit", "note", f"@{file}", "--priority", "0", "--delay", "3600", "--max-attempts", "7",
        "--tenant", "acme", "--queue", "media",
    )  # fmt: skip
    assert task["payload"]["text"] == "from a file"
    assert (task["status"], task["priority"], task["max_attempts"]) == ("scheduled", 0, 7)
    assert (task["tenant"], task["queue"]) == ("acme", "media")
    waits = datetime.fromisoformat(task["available_at"]) - datetime.fromisoformat(task["created_at"])
    assert waits.total_seconds() == pytest.approx(3600)


def test_submit_reads_stdin() -> None:
    task = answer("submit", "note", "-", stdin='{"text": "from stdin"}')
    assert task["payload"]["text"] == "from stdin"


def test_list_filters_and_pages() -> None:
    ids = [submit("noop", "--tenant", "acme") for _ in range(3)]
    other = submit("note")
    first = answer("list", "--tenant", "acme", "--limit", "2")
    assert [task["task_id"] for task in first["items"]] == [ids[2], ids[1]]
    rest = answer("list", "--tenant", "acme", "--limit", "2", "--before", first["next_cursor"])
    assert [task["task_id"] for task in rest["items"]] == [ids[0]]
    assert rest["next_cursor"] is None
    assert [task["task_id"] for task in answer("list", "--actor", "note")["items"]] == [other]
    assert answer("list", "--status", "dead") == {"items": [], "next_cursor": None}


def test_list_knows_every_status() -> None:
    assert get_args(StatusName) == STATUSES


def test_list_as_a_table() -> None:
    assert "No tasks" in succeed("list")
    task_id = submit("noop")
    submit("noop")
    table = succeed("list")
    assert task_id in table
    assert "queued" in table
    eventually(lambda: "ago" in succeed("list"), what="the tasks are older than a second")
    cursor = answer("list", "--limit", "1")["next_cursor"]
    assert f"--before {cursor}" in succeed("list", "--limit", "1")


def test_show() -> None:
    task_id = submit("note", "--set", "text=[red]not markup[/] \x1b[31mnor color")
    shown = answer("show", task_id)
    assert shown["task_id"] == task_id
    assert shown["attempts"] == []
    text = succeed("show", task_id)
    assert "queued" in text
    assert "submitted, queued" in text
    assert "[red]not markup[/]" in text
    assert "\x1b" not in text


def test_cancel() -> None:
    task_id = submit("noop")
    assert "is canceled" in succeed("cancel", task_id)
    assert get_task(task_id).status == "canceled"
    assert answer("cancel", submit("noop"))["status"] == "canceled"


def test_watching_a_finished_task_ends_at_once() -> None:
    task_id = submit("noop")
    succeed("cancel", task_id)
    watched = callboard("watch", task_id, "--json")
    assert watched.returncode == 6
    assert [json.loads(line)["kind"] for line in watched.stdout.splitlines()] == ["snapshot", "done"]


@pytest.mark.parametrize("command", ["up", "migrate", "submit", "list", "show", "watch", "cancel"])
def test_help_has_examples_and_exit_codes(command: str) -> None:
    text = succeed(command, "--help")
    assert "Examples:" in text
    assert f"callboard {command}" in text.split("Examples:")[1]
    assert "--json" in text
    assert "Exit codes:" in text
