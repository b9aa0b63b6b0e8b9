"""Report, save, settle. A worker that has lost its lease, a zombie, can write nothing."""

from collections.abc import Callable
from typing import Any

import pytest

from state import LeaseLost, NewTask, get_attempts, get_events, get_task, submit, submit_many
from state.database import Connection
from state.maintenance.sweep import read_last_seen, sweep
from state.workers import leases
from state.workers.leases import Claimed, Report, Settlement
from tests.support.clock import Clock
from tests.support.observer import Observer

Take = Callable[..., list[Claimed]]


def completed(task: Claimed, result: Any = None) -> Settlement:
    return Settlement(task.id, task.epoch, "completed", result=result)


def lost_and_claimed_again(take: Take, clock: Clock) -> tuple[Claimed, Claimed]:
    """Returns the task as the zombie has claimed it, and as its new owner has."""
    submit("quick", {})
    [old] = take(worker="zombie")
    clock.advance(31)
    assert len(sweep(silent=read_last_seen()).lost) == 1
    [new] = take(worker="heir")
    assert (new.id, new.epoch, new.attempt) == (old.id, 2, 2)
    return old, new


WRITES: dict[str, Callable[[Connection, Claimed], object]] = {
    "progress": lambda c, t: leases.report(c, "zombie", [Report(t.id, t.epoch, 1, progress={"percent": 1})]),
    "emit": lambda c, t: leases.report(c, "zombie", [Report(t.id, t.epoch, 1, events=[{"kind": "token", "data": {}}])]),
    "use": lambda c, t: leases.report(c, "zombie", [Report(t.id, t.epoch, 1, tokens=5)]),
    "complete": lambda c, t: leases.settle(c, "zombie", [completed(t)]),
    "fail": lambda c, t: leases.settle(c, "zombie", [Settlement(t.id, t.epoch, "failed", error={"type": "X"})]),
    "release": lambda c, t: leases.settle(c, "zombie", [Settlement(t.id, t.epoch, "released")]),
}


@pytest.mark.parametrize("kind", WRITES)
def test_a_zombie_writes_nothing(
    worker_connection: Connection, take: Take, clock: Clock, connection: Observer, kind: str
) -> None:
    old, _ = lost_and_claimed_again(take, clock)

    def everything() -> list[Any]:
        tables = ("tasks", "leases", "attempts", "events")
        return [connection.execute(f"SELECT * FROM callboard.{table} ORDER BY 1, 2").fetchall() for table in tables]

    before = everything()
    assert not WRITES[kind](worker_connection, old)
    assert everything() == before


def test_a_zombie_cannot_save(take: Take, clock: Clock) -> None:
    old, new = lost_and_claimed_again(take, clock)
    with pytest.raises(LeaseLost):
        leases.save("zombie", old.id, old.epoch, {"paid": True})
    assert leases.save("heir", new.id, new.epoch, {"paid": False}) == {"paid": False}


def test_save_adds_up_and_outlives_the_attempt(worker_connection: Connection, take: Take) -> None:
    submit("quick", {})
    [first] = take()
    leases.save("w1", first.id, first.epoch, {"job": "j1", "page": 1})
    leases.save("w1", first.id, first.epoch, {"page": 2})
    leases.settle(worker_connection, "w1", [Settlement(first.id, first.epoch, "released")])
    [second] = take()
    assert second.checkpoint == {"job": "j1", "page": 2}


def test_release_burns_no_attempt_and_keeps_the_lane(worker_connection: Connection, take: Take) -> None:
    task_id = submit("quick", {}).task_id
    [claimed] = take()
    leases.settle(worker_connection, "w1", [Settlement(claimed.id, claimed.epoch, "released")])
    task = get_task(task_id)
    assert (task.status, task.attempt, task.lane, task.epoch) == ("queued", 0, "primary", 1)
    assert get_attempts(task_id)[0]["outcome"] == "released"


def test_failing_waits_then_dies_after_max_attempts(worker_connection: Connection, take: Take, clock: Clock) -> None:
    task_id = submit("quick", {}).task_id
    for attempt in (1, 2, 3):
        [claimed] = take()
        assert claimed.attempt == attempt
        error = {"type": "Boom", "message": f"no. {attempt}", "category": "unknown", "details": {}, "traceback": "t"}
        leases.settle(
            worker_connection, "w1", [Settlement(claimed.id, claimed.epoch, "failed", error=error, retry_seconds=5)]
        )
        task = get_task(task_id)
        assert task.status == ("scheduled" if attempt < 3 else "dead")
        assert not take()
        clock.advance(6)
        sweep()
    assert task.lane == "retry"
    assert [error["message"] for error in task.error_history] == ["no. 1", "no. 2", "no. 3"]
    assert task.retry_count == 2


def test_a_permanent_failure_is_dead_at_once(worker_connection: Connection, take: Take) -> None:
    task_id = submit("quick", {}).task_id
    [claimed] = take()
    leases.settle(
        worker_connection, "w1", [Settlement(claimed.id, claimed.epoch, "failed", error={"type": "InvalidInput"})]
    )
    assert get_task(task_id).status == "dead"


def test_a_retry_that_would_come_too_late_is_dead(worker_connection: Connection, take: Take) -> None:
    task_id = submit("quick", {}, max_age_seconds=10).task_id
    [claimed] = take()
    failed = Settlement(claimed.id, claimed.epoch, "failed", error={"type": "Boom"}, retry_seconds=60)
    leases.settle(worker_connection, "w1", [failed])
    assert get_task(task_id).status == "dead"


def test_settling_twice_changes_nothing_and_can_be_recognized(worker_connection: Connection, take: Take) -> None:
    task_id = submit("quick", {}).task_id
    [claimed] = take()
    leases.settle(worker_connection, "w1", [completed(claimed, 1)])
    assert leases.settle(worker_connection, "w1", [completed(claimed, 2)]) == []
    assert leases.find_settled(worker_connection, "w1", [completed(claimed, 2)]) == {(claimed.id, claimed.epoch)}
    assert leases.find_settled(worker_connection, "w2", [completed(claimed, 2)]) == set()
    assert get_task(task_id).result == 1


def test_a_batch_is_one_statement_and_only_the_owned_rows_move(worker_connection: Connection, take: Take) -> None:
    submit_many([NewTask("quick", {}) for _ in range(3)])
    claimed = take(3)
    outcomes = [completed(claimed[0]), Settlement(claimed[1].id, claimed[1].epoch + 1, "completed")]
    outcomes.append(Settlement(claimed[2].id, claimed[2].epoch, "released"))
    assert {row["id"]: row["status"] for row in leases.settle(worker_connection, "w1", outcomes)} == {
        claimed[0].id: "completed",
        claimed[2].id: "queued",
    }


def test_usage_adds_up_over_attempts(worker_connection: Connection, take: Take) -> None:
    task_id = submit("quick", {}).task_id
    for _ in range(2):
        [claimed] = take()
        leases.report(worker_connection, "w1", [Report(claimed.id, claimed.epoch, 1, tokens=10, cost=0.25)])
        leases.settle(worker_connection, "w1", [Settlement(claimed.id, claimed.epoch, "released")])
    assert get_task(task_id).usage == {"tokens": 20, "cost": 0.5}


def test_events_have_no_gaps_and_no_doubles(worker_connection: Connection, take: Take) -> None:
    task_id = submit("quick", {}).task_id
    [claimed] = take()
    for number, size in enumerate((1, 3, 0, 2), start=1):
        lines = [{"kind": "token", "data": {"size": size}}] * size
        leases.report(
            worker_connection,
            "w1",
            [Report(claimed.id, claimed.epoch, number, progress={"percent": size}, events=lines)],
        )
    leases.settle(worker_connection, "w1", [completed(claimed)])
    assert [event.n for event in get_events(task_id)] == list(range(1, 10))
    assert get_task(task_id).last_event == 9


def test_a_report_that_is_sent_again_is_written_once(worker_connection: Connection, take: Take) -> None:
    """Its answer was lost with the connection, after the commit."""
    task_id = submit("quick", {}).task_id
    for epoch in (1, 2):
        [claimed] = take()
        ours = {(task_id, epoch)}
        events = [{"kind": "token", "data": {"epoch": epoch}}]
        first = Report(task_id, epoch, 1, progress={"percent": 10}, tokens=10, cost=0.25, events=events)
        assert leases.report(worker_connection, "w1", [first]) == ours
        assert leases.report(worker_connection, "w1", [Report(task_id, epoch, 2, progress={"percent": 20})]) == ours
        assert leases.report(worker_connection, "w1", [first]) == ours
        assert get_task(task_id).progress["percent"] == 20
        leases.settle(worker_connection, "w1", [Settlement(task_id, claimed.epoch, "released")])
    assert [event.data["epoch"] for event in get_events(task_id) if event.kind == "token"] == [1, 2]
    assert get_task(task_id).usage == {"tokens": 20, "cost": 0.5}
