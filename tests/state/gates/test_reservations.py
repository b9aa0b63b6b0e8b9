"""Reservations: a task with several gates gets its turn, and holds up others for a short time only."""

from collections.abc import Callable
from typing import Any

import pytest

from state import get_task
from state.database import Connection
from state.gates import Gate
from state.gates.declarations import declare
from state.gates.operations import put_gate
from state.gates.reads import get_gate
from state.gates.waking import sweep_lines, wake
from state.workers.leases import Claimed
from tests.state.gated import failed, finish, gated_task, many, statuses
from tests.support.clock import Clock
from tests.support.observer import Observer

Take = Callable[..., list[Claimed]]
pytestmark = pytest.mark.usefixtures("gated")


def reservations(connection: Observer) -> list[Any]:
    rows = connection.execute("SELECT gate, task_id FROM callboard.reservations ORDER BY gate").fetchall()
    return [tuple(row.values()) for row in rows]


def bounced(connection: Observer, task_id: str) -> None:
    """As one that has been woken and stopped at another gate several times, and is queued again."""
    connection.execute(
        "UPDATE callboard.tasks SET bounces = 3, available_at = available_at - interval '5 seconds' WHERE id = %s",
        [task_id],
    )


def waits_with_a_reservation(worker_connection: Connection, take: Take, connection: Observer) -> tuple[str, Claimed]:
    """A task of the gates a and b: b is full, and its place at a is kept."""
    many(1, b=1)
    [blocker] = take(10)
    both = gated_task(a=1, b=1)
    bounced(connection, both)
    assert take(10) == []
    assert reservations(connection) == [("a", both)]
    return both, blocker


def test_a_place_is_kept_and_used(worker_connection: Connection, take: Take, connection: Observer) -> None:
    both, blocker = waits_with_a_reservation(worker_connection, take, connection)
    other = gated_task(a=1)
    assert take(10) == []
    waiting = get_task(other).waiting
    assert waiting is not None
    finish(worker_connection, blocker)
    assert [task.id for task in take(10)] == [both]
    assert reservations(connection) == []
    assert connection.execute("SELECT * FROM admin.invariants").fetchall() == []


def test_it_expires(worker_connection: Connection, take: Take, connection: Observer, clock: Clock) -> None:
    both, _ = waits_with_a_reservation(worker_connection, take, connection)
    other = gated_task(a=1)
    assert take(10) == []
    clock.advance(31)
    sweep_lines()
    assert [task.id for task in take(10)] == [other]
    assert statuses(both) == ["waiting"]


@pytest.mark.parametrize("how", ["paused", "rate", "closed", "breaker"])
def test_only_a_crowd_reserves(worker_connection: Connection, take: Take, connection: Observer, how: str) -> None:
    declare([Gate("a", 1), Gate("b", 5, breaker=True)])
    if how == "breaker":
        many(10, b=20)
        connection.execute("UPDATE callboard.gates SET max_concurrent = 20 WHERE key = 'b'")
        for task in take(10):
            failed(worker_connection, task)
    else:
        changes = {
            "paused": "paused = true",
            "rate": "rate_count = 1, rate_seconds = 100",
            "closed": "closed_until = now() + interval '1 hour'",
        }
        connection.execute(f"UPDATE callboard.gates SET {changes[how]} WHERE key = 'b'")
        many(1, b=5)
        take(1)
    both = gated_task(a=1, b=5)
    bounced(connection, both)
    connection.execute("UPDATE callboard.tasks SET status = 'queued', waiting_gate = NULL WHERE id = %s", [both])
    assert take(10) == []
    assert statuses(both) == ["waiting"]
    assert reservations(connection) == []
    other = gated_task(a=1)
    assert [task.id for task in take(10)] == [other]


def test_neither_a_young_task_nor_one_that_has_rarely_bounced_reserves(take: Take, connection: Observer) -> None:
    many(1, b=1)
    take(10)
    young, calm = gated_task(a=2, b=1), gated_task(a=2, b=1)
    connection.execute(
        "UPDATE callboard.tasks SET status = 'queued', waiting_gate = NULL, bounces = 3 WHERE id = %s", [young]
    )
    connection.execute(
        "UPDATE callboard.tasks SET bounces = 2, available_at = available_at - interval '9 seconds' WHERE id = %s",
        [calm],
    )
    assert take(10) == []
    assert statuses(young, calm) == ["waiting", "waiting"]
    assert reservations(connection) == []


def test_a_lowered_limit_is_looked_at_again(worker_connection: Connection, take: Take, connection: Observer) -> None:
    both, blocker = waits_with_a_reservation(worker_connection, take, connection)
    put_gate("a", max_concurrent=0)
    finish(worker_connection, blocker)
    assert take(10) == []
    assert statuses(both) == ["waiting"]
    assert reservations(connection) == []  # its place is gone, it stands in line like all others
    put_gate("a", max_concurrent=1)
    assert [task.id for task in take(10)] == [both]


def test_a_reservation_lets_no_second_probe_through(
    worker_connection: Connection, take: Take, connection: Observer, clock: Clock
) -> None:
    declare([Gate("a", 20, breaker=True)])
    many(10, a=20)
    for task in take(10):
        failed(worker_connection, task)
    many(1, a=20)
    many(1, b=1)
    [blocker] = take(10)
    assert get_gate("a")["breaker_state"] == "open"
    clock.advance(61)
    both = gated_task(a=20, b=1)
    bounced(connection, both)
    connection.execute(
        "INSERT INTO callboard.reservations VALUES ('a', %s, callboard.now() + interval '30 seconds')", [both]
    )
    finish(worker_connection, blocker)
    many(2, a=20)
    wake(["a", "b"])
    probes = take(10)
    assert len(probes) == 1
    assert get_gate("a")["breaker_state"] == "half_open"
    running = connection.execute("SELECT count(*) AS n FROM callboard.slots WHERE gate = 'a'").fetchone()
    assert running == {"n": 1}
