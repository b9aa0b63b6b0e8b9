"""Database functions that workers and servers of release 15 (schema version 15) call on the new schema."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from state import NewTask, jsonsafe, submit, submit_many
from state.workers.leases import Claimed
from tests.state.gated import gated_task, many, statuses
from tests.support.observer import Observer

Take = Callable[..., list[Claimed]]
pytestmark = pytest.mark.usefixtures("gated")

CLAIM = (
    "SELECT * FROM callboard.claim(%(worker)s, %(claim_number)s, %(queues)s, %(free)s, %(ahead)s, %(short_actors)s, "
    "%(retry_share)s, make_interval(secs => %(lease_seconds)s), %(freed_gates)s)"
)
DECLARE = (
    "INSERT INTO callboard.gates AS g (key, declared_concurrent, max_concurrent, breaker_threshold) "
    "SELECT d.key, d.declared, d.declared, d.breaker FROM unnest(%(keys)s::text[], %(limits)s::integer[], "
    "%(breakers)s::double precision[]) AS d (key, declared, breaker) ON CONFLICT (key) DO UPDATE "
    "SET declared_concurrent = excluded.declared_concurrent, "
    "max_concurrent = CASE WHEN g.max_concurrent IS NOT DISTINCT FROM g.declared_concurrent "
    "THEN excluded.declared_concurrent ELSE g.max_concurrent END, "
    "breaker_threshold = coalesce(g.breaker_threshold, excluded.breaker_threshold)"
)


class OldWorker:
    def __init__(self, connection: Observer) -> None:
        self.connection = connection

    def claim(self, free: int, *freed_gates: str) -> list[dict[str, Any]]:
        rows = self.connection.execute(
            CLAIM,
            {
                "worker": "old",
                "claim_number": 1,
                "queues": ["one", "two"],
                "free": free,
                "ahead": 0,
                "short_actors": [],
                "retry_share": 0.3,
                "lease_seconds": 30.0,
                "freed_gates": list(freed_gates),
            },
        ).fetchall()
        return [row for row in rows if row["id"] is not None]

    def settle(self, *tasks: dict[str, Any]) -> list[dict[str, Any]]:
        outcomes = [{"id": task["id"], "epoch": task["epoch"], "outcome": "completed"} for task in tasks]
        return self.connection.execute("SELECT * FROM callboard.settle(%s)", [jsonsafe.dump(outcomes)]).fetchall()


@pytest.fixture
def old(connection: Observer) -> OldWorker:
    return OldWorker(connection)


def test_it_claims_by_the_new_rules(old: OldWorker, take: Take, connection: Observer) -> None:
    submit("quick", {}, tenant="t", target="x")
    many(3, p=2)
    tasks = old.claim(10)
    assert len(tasks) == 3
    slots = connection.execute("SELECT gate FROM callboard.slots ORDER BY gate").fetchall()
    assert [row["gate"] for row in slots] == ["p", "p", "target:t/x", "tenant:t"]
    assert take(10) == []
    assert len(old.settle(*tasks)) == 3
    assert connection.execute("SELECT * FROM callboard.slots").fetchall() == []
    assert connection.execute("SELECT * FROM admin.invariants").fetchall() == []


def test_it_wakes_with_its_claim_and_by_itself(old: OldWorker, connection: Observer) -> None:
    first, second, third, fourth = many(4, p=1)
    [task] = old.claim(10)
    assert (task["id"], statuses(second)) == (first, ["waiting"])
    old.settle(task)
    [task] = old.claim(10, "p")
    assert task["id"] == second
    old.settle(task)
    woken = connection.execute("SELECT id, queue FROM callboard.wake(%s)", [["p", "p", "none"]]).fetchall()
    assert woken == [{"id": third, "queue": "one"}]
    [task] = old.claim(10)
    old.settle(task)
    assert connection.execute("SELECT id, queue FROM callboard.wake_lines()").fetchall() == [
        {"id": fourth, "queue": "one"}
    ]


def test_it_waits_for_no_gate(old: OldWorker, take: Take, connection: Observer, database_url: str) -> None:
    many(2, p=1)
    [task] = old.claim(10)
    other = submit("quick", {}).task_id
    old.settle(task)
    with psycopg.connect(database_url) as holder:
        holder.execute("SELECT FROM callboard.gates WHERE key = 'p' FOR UPDATE")
        connection.execute("SET lock_timeout = '200ms'")
        assert [each["id"] for each in old.claim(10, "p")] == [other]
        assert connection.execute("SELECT id, queue FROM callboard.wake_lines()").fetchall() == []


def test_it_reports_and_saves(old: OldWorker, connection: Observer) -> None:
    submit("quick", {})
    [task] = old.claim(1)
    report = {"id": task["id"], "epoch": 1, "number": 1, "progress": {}, "tokens": 3, "cost": 0, "events": []}
    rows = connection.execute("SELECT * FROM callboard.report(%s)", [jsonsafe.dump([report])]).fetchall()
    assert rows == [{"id": task["id"], "epoch": 1}]


def test_it_declares_gates(old: OldWorker, connection: Observer) -> None:
    said = {"keys": ["p", "q"], "limits": [3, None], "breakers": [0.5, None]}
    for _ in range(2):
        connection.execute(DECLARE, said)
    gates = connection.execute("SELECT key, max_concurrent FROM callboard.gates ORDER BY key").fetchall()
    assert gates == [{"key": "p", "max_concurrent": 3}, {"key": "q", "max_concurrent": None}]


def test_a_claim_that_was_under_way_takes_its_slots(old: OldWorker, connection: Observer) -> None:
    """The claim has started its tasks in the old function, and ends with a call of the new take_slots."""
    ids = submit_many([NewTask("quick", {}, tenant="t") for _ in range(2)])
    gated_task(p=1)
    old.claim(10)
    connection.execute("DELETE FROM callboard.slots WHERE gate = 'tenant:t'")
    connection.execute("SELECT callboard.take_slots(%s)", [ids])
    assert connection.execute("SELECT * FROM admin.invariants").fetchall() == []
