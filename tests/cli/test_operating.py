"""The commands of operators: gates, queues, workers."""

from datetime import UTC, datetime

import pytest

from state.gates import Gate
from state.gates.declarations import declare
from state.gates.reads import get_gate
from state.workers.identity import Identity
from state.workers.registry import register
from tests.cli.command import answer, refusal, succeed

pytestmark = pytest.mark.usefixtures("database_url")
KEY = "provider:leonardo"


def test_gates() -> None:
    assert "No gates" in succeed("gates")
    assert answer("gates") == {"items": [], "next_cursor": None}
    declare([Gate(KEY, 3, breaker=True), Gate("tenant:a/b")])
    assert [gate["key"] for gate in answer("gates")["items"]] == [KEY, "tenant:a/b"]
    table = succeed("gates")
    assert KEY in table
    assert "closed" in table


def test_gates_set() -> None:
    declare([Gate(KEY, 3)])
    changed = answer("gates", "set", KEY, "--max-concurrent", "5", "--rate", "10/60")
    assert (changed["max_concurrent"], changed["rate_count"], changed["rate_seconds"]) == (5, 10, 60)
    assert "5 (code: 3)" in succeed("gates", "set", KEY, "--pause")
    assert "paused" in succeed("gates")
    row = get_gate(KEY)
    assert (row["paused"], row["max_concurrent"], row["rate_count"]) == (True, 5, 10)
    closed = answer("gates", "set", KEY, "--resume", "--close-for", "300", "--rate", "none")
    assert (closed["paused"], closed["rate_count"], closed["rate_seconds"]) == (False, None, None)
    waits = datetime.fromisoformat(closed["closed_until"]) - datetime.now(UTC)
    assert 200 < waits.total_seconds() <= 300
    assert "opens in" in succeed("gates")
    opened = answer("gates", "set", KEY, "--close-for", "0", "--max-concurrent", "none")
    assert (opened["closed_until"], opened["max_concurrent"]) == (None, None)


def test_gates_show_and_reset() -> None:
    declare([Gate(KEY, 3)])
    succeed("gates", "set", KEY, "--max-concurrent", "5")
    shown = answer("gates", "show", KEY)
    assert (shown["gate"]["max_concurrent"], shown["holders"], shown["waiters"]) == (5, [], [])
    assert [change["changes"] for change in shown["changes"]] == [{"max_concurrent": [3, 5]}]
    assert "max_concurrent 3 → 5" in succeed("gates", "show", KEY)
    assert answer("gates", "reset", KEY)["max_concurrent"] == 3
    assert "callboard gates" in refusal(3, "gates", "show", "provider:nobody")
    assert "callboard gates" in refusal(3, "gates", "reset", "provider:nobody")


def test_gates_set_refuses() -> None:
    declare([Gate(KEY, 3)])
    before = get_gate(KEY)
    for arguments, complaint in (
        (["--max-concurrent", "-1"], "max_concurrent"),
        (["--max-concurrent", "many"], "--max-concurrent"),
        (["--rate", "10"], "--rate"),
        (["--rate", "10/0"], "rate_seconds"),
        (["--rate", "10/nan"], "--rate"),
        (["--close-for", "-1"], "--close-for"),
        (["--close-for", "1e300"], "--close-for"),
        ([], "--max-concurrent"),
    ):
        assert complaint in refusal(2, "gates", "set", KEY, *arguments)
    assert "callboard gates" in refusal(3, "gates", "set", "provider:nobody", "--pause")
    assert get_gate(KEY) == before


def test_queues() -> None:
    succeed("submit", "noop")
    status = answer("queues")
    assert status == answer("queues", "status")
    assert status["queues"]["primary"] == 1
    assert "primary 1" in succeed("queues")
    assert answer("queues", "pause", "test") == {"queue": "test", "gate": "queue:test", "paused": True}
    assert get_gate("queue:test")["paused"] is True
    assert "paused" in succeed("queues", "status")
    assert "is open" in succeed("queues", "resume", "test")
    assert get_gate("queue:test")["paused"] is False
    assert "test" in refusal(3, "queues", "pause", "nobody")


def test_all_queues_at_once() -> None:
    """Also those that no worker has declared yet: after a restore there are none."""
    queues = {row["queue"] for row in answer("queues")["by_queue"]}
    assert {row["queue"] for row in answer("queues", "pause", "--all") if row["paused"]} == queues
    assert {row["queue"] for row in answer("queues")["by_queue"] if row["paused"]} == queues
    assert "media is open" in succeed("queues", "resume", "--all")
    assert not any(row["paused"] for row in answer("queues")["by_queue"])
    for arguments in ([], ["media", "--all"]):
        assert "--all" in refusal(2, "queues", "pause", *arguments)


def test_workers() -> None:
    assert "No workers" in succeed("workers")
    register(worker := Identity.of_this_process(), ["media", "test"], 8)
    [row] = answer("workers")["items"]
    assert (row["id"], row["queues"], row["threads"], row["alive"]) == (worker.id, ["media", "test"], 8, True)
    table = succeed("workers")
    assert worker.id in table
    assert "alive" in table


@pytest.mark.parametrize(
    "command",
    [
        "gates",
        "gates set",
        "gates show",
        "gates reset",
        "queues",
        "queues status",
        "queues pause",
        "queues resume",
        "workers",
    ],
)
def test_help_has_examples_and_exit_codes(command: str) -> None:
    text = succeed(*command.split(), "--help")
    assert f"callboard {command}" in text.split("Examples:")[1]
    assert "--json" in text
    assert "Exit codes:" in text
