"""Slots: every running task has one at each of its gates, and they go with its lease."""

import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from state import NewTask, submit, submit_many
from state.database import Connection, connect
from state.gates.operations import put_gate
from state.maintenance.sweep import read_last_seen, sweep
from state.workers import leases
from state.workers.leases import Claimed, Settlement
from tests.state.gated import finish, gated_task, many
from tests.support.clock import Clock
from tests.support.observer import Observer

Take = Callable[..., list[Claimed]]
pytestmark = pytest.mark.usefixtures("gated")


def slots(connection: Observer) -> list[tuple[Any, ...]]:
    rows = connection.execute("SELECT gate, task_id, epoch FROM callboard.slots ORDER BY gate, task_id").fetchall()
    return [tuple(row.values()) for row in rows]


def invariants(connection: Observer) -> list[Any]:
    return connection.execute("SELECT * FROM admin.invariants").fetchall()


def test_a_running_task_has_a_slot_at_each_of_its_gates(take: Take, connection: Observer) -> None:
    task = submit("gated", {"gates": {"a": 1, "free": None}}, tenant="t", target="x").task_id
    take(10)
    expected = [("a", task, 1), ("free", task, 1), ("target:t/x", task, 1), ("tenant:t", task, 1)]
    assert slots(connection) == expected
    assert invariants(connection) == []
    connection.execute("DELETE FROM callboard.slots WHERE gate = 'free'")
    assert [row["invariant"] for row in invariants(connection)] == ["running without a slot at one of its gates"]


@pytest.mark.parametrize("end", ["settled", "lost", "deleted"])
def test_slots_go_with_the_lease(
    worker_connection: Connection, take: Take, connection: Observer, clock: Clock, end: str
) -> None:
    gated_task(a=1, free=None)
    other = gated_task(free=None)
    first, _ = take(10)
    if end == "settled":
        leases.settle(worker_connection, "w1", [Settlement(first.id, first.epoch, "completed")])
    elif end == "lost":
        connection.execute("UPDATE callboard.leases SET expires_at = now() WHERE task_id = %s", [first.id])
        sweep(silent=read_last_seen())
    else:
        connection.execute("DELETE FROM callboard.leases WHERE task_id = %s", [first.id])
    assert slots(connection) == [("free", other, 1)]


def test_a_limit_on_a_busy_gate_leaves_no_slot_of_a_task_that_ends_meanwhile(
    worker_connection: Connection, take: Take, connection: Observer
) -> None:
    """The limit's statement has begun when the task ends, and commits after it."""
    submit("quick", {}, tenant="t")
    [task] = take()
    connection.execute("INSERT INTO callboard.gates (key) VALUES ('tenant:t')")
    with connect("operator") as operator, operator.transaction():
        operator.execute("UPDATE callboard.gates SET max_concurrent = 1 WHERE key = 'tenant:t'")
        leases.settle(worker_connection, "w1", [Settlement(task.id, task.epoch, "completed")])
    assert slots(connection) == []
    submit("quick", {}, tenant="t")
    assert len(take()) == 1


def test_a_limit_waits_for_a_claim_that_did_not_count(take: Take, connection: Observer) -> None:
    submit_many([NewTask("quick", {}, tenant="t") for _ in range(3)])
    done = threading.Event()

    def limit() -> None:
        put_gate("tenant:t", max_concurrent=1)
        done.set()

    with connect("claim") as own, own.transaction():
        assert len(take(2, connection=own)) == 2
        operator = threading.Thread(target=limit)
        operator.start()
        assert not done.wait(0.3)
    operator.join(10)
    assert take(10) == []
    assert len(slots(connection)) == 2


def test_no_claim_slips_past_a_limit_that_is_being_set(take: Take, connection: Observer) -> None:
    submit_many([NewTask("quick", {}, tenant="t") for _ in range(3)])
    with connection.transaction():
        connection.execute("INSERT INTO callboard.gates (key, max_concurrent) VALUES ('tenant:t', 1)")
        assert take(10) == []  # it cannot know how many may
    assert len(take(10)) == 1


def test_a_limit_holds_over_all_rounds_of_a_claim(take: Take, connection: Observer) -> None:
    """A task that stops at one gate makes room in the batch for more tasks of another gate."""
    many(1, full=1)
    take(1)
    for _ in range(4):
        gated_task(p=2)
        gated_task(full=1)
    assert len(take(4)) == 2
    running = connection.execute("SELECT count(*) AS n FROM callboard.slots WHERE gate = 'p'").fetchone()
    assert running == {"n": 2}


def test_concurrent_limits_claims_and_ends(take: Take, connection: Observer) -> None:
    """Limits come and go while tasks start and end: no slot is left, and no limit is exceeded while it stands."""
    submit_many([NewTask("quick", {}, tenant="t") for _ in range(400)])
    errors: list[BaseException] = []
    stop = threading.Event()

    def operate() -> None:
        while not stop.is_set():
            put_gate("tenant:t", max_concurrent=2)
            put_gate("tenant:t", max_concurrent=None)

    def work(worker: str) -> None:
        with connect("test") as own:
            for _ in range(25):
                tasks = take(4, worker=worker, connection=own)
                finish(own, *tasks, worker=worker)

    def guarded(run: Callable[..., None], *arguments: str) -> None:
        try:
            run(*arguments)
        except BaseException as error:
            errors.append(error)

    operator = threading.Thread(target=guarded, args=(operate,))
    workers = [threading.Thread(target=guarded, args=(work, f"w{n}")) for n in range(3)]
    for thread in (operator, *workers):
        thread.start()
    for thread in workers:
        thread.join(60)
    stop.set()
    operator.join(10)
    assert not errors
    assert slots(connection) == []
    assert invariants(connection) == []


def test_two_slots_at_one_target_are_impossible(take: Take, connection: Observer) -> None:
    connection.execute("INSERT INTO callboard.slots VALUES ('target:/t', 'tq_1', 1)")
    with pytest.raises(psycopg.errors.UniqueViolation):
        connection.execute("INSERT INTO callboard.slots VALUES ('target:/t', 'tq_2', 1)")
