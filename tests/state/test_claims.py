"""Claim, report, save, settle, pulse: what a worker may write, and what a zombie may not."""

import threading
from collections.abc import Callable
from datetime import datetime
from typing import Any

import psycopg
import pytest

from state import LeaseLost, NewTask, cancel, get_attempts, get_events, get_task, submit, submit_many
from state.database.connection import Connection
from state.database.pool import get_database
from state.maintenance.sweep import read_signs, sweep
from state.workers import leases, registry
from state.workers.leases import Claimed, Report, Settlement
from tests.support.clock import Clock

Take = Callable[..., list[Claimed]]


def completed(task: Claimed, result: Any = None) -> Settlement:
    return Settlement(task.id, task.epoch, "completed", result=result)


def test_a_task_from_submit_to_completion(desk: Connection, take: Take) -> None:
    task_id = submit("quick", {"x": 1}, priority=1).task_id
    [claimed] = take()
    assert (claimed.id, claimed.epoch, claimed.attempt, claimed.payload) == (task_id, 1, 1, {"x": 1})
    running = get_task(task_id)
    assert (running.status, running.worker_id, running.attempt) == ("running", "w1", 1)
    assert running.lease_expires_at is not None

    assert leases.settle(desk, "w1", [completed(claimed, {"y": 2})])[0]["status"] == "completed"
    done = get_task(task_id)
    assert (done.status, done.result, done.worker_id, done.lease_expires_at) == ("completed", {"y": 2}, None, None)
    assert done.progress["percent"] == 100
    assert done.finished_at is not None
    assert [(e.n, e.data.get("from"), e.data.get("to")) for e in get_events(task_id)] == [
        (1, None, "queued"),
        (2, "queued", "running"),
        (3, "running", "completed"),
    ]
    assert [(a["epoch"], a["outcome"]) for a in get_attempts(task_id)] == [(1, "completed")]


def test_what_a_task_shows_before_its_code_has_said_anything(desk: Connection, take: Take, clock: Clock) -> None:
    task_id = submit("quick", {}).task_id

    def shown() -> tuple[Any, Any]:
        task = get_task(task_id)
        assert task.created_at <= datetime.fromisoformat(task.progress["updated_at"]) <= task.updated_at
        return task.progress["percent"], task.progress["message"]

    assert shown() == (0, "Queued")
    [claimed] = take()
    assert shown() == (0, "Queued")
    said = {"percent": 40, "message": "Almost half", "elapsed_ms": 9}
    leases.report(desk, "w1", [Report(task_id, claimed.epoch, 1, progress=said)])
    assert shown() == (40, "Almost half")
    error = {"type": "NetworkTimeout", "category": "transient", "message": "", "details": {}, "traceback": None}
    leases.settle(desk, "w1", [Settlement(task_id, claimed.epoch, "failed", error=error, retry_seconds=5)])
    assert shown() == (0, "Retrying (attempt 2)")
    clock.advance(6)
    sweep()
    [claimed] = take()
    assert shown() == (0, "Retrying (attempt 2)")
    leases.settle(desk, "w1", [Settlement(task_id, claimed.epoch, "released")])
    assert shown() == (0, "Retrying (attempt 2)")
    [claimed] = take()
    leases.settle(desk, "w1", [Settlement(task_id, claimed.epoch, "failed", error=error)])
    assert get_task(task_id).status == "dead"
    assert shown() == (0, "Retrying (attempt 2)")


def test_order_is_priority_then_age_over_all_queues(take: Take) -> None:
    ids = {
        name: submit(actor, {}, priority=priority).task_id
        for name, actor, priority in [("a", "quick", 2), ("b", "slow", 0), ("c", "quick", 0), ("d", "slow", 3)]
    }
    assert [claimed.id for claimed in take(10)] == [ids["b"], ids["c"], ids["a"], ids["d"]]


def test_ahead_takes_only_short_actors_and_stops_at_the_first_other(take: Take) -> None:
    short = [submit("quick", {}).task_id for _ in range(3)]
    long = submit("slow", {}).task_id
    behind = submit("quick", {}).task_id
    claimed = [each.id for each in take(free=1, ahead=10, short_actors=["quick"])]
    assert claimed == short
    assert [each.id for each in take(free=1)] == [long]
    assert [each.id for each in take(free=1)] == [behind]


def test_lanes_share_the_starts(desk: Connection, take: Take, connection: psycopg.Connection) -> None:
    submit_many([NewTask("quick", {}) for _ in range(2000)])
    connection.execute(
        "UPDATE callboard.tasks SET lane = 'retry' WHERE id IN (SELECT id FROM callboard.tasks LIMIT 1000)"
    )
    lanes = [each.lane for _ in range(60) for each in take(8, retry_share=0.3)]
    assert 0.2 < lanes.count("retry") / len(lanes) < 0.4


@pytest.mark.parametrize("lane", ["primary", "retry"])
def test_an_empty_lane_leaves_its_share_to_the_other(take: Take, connection: psycopg.Connection, lane: str) -> None:
    submit_many([NewTask("quick", {}) for _ in range(10)])
    connection.execute("UPDATE callboard.tasks SET lane = %s", [lane])
    assert len(take(10)) == 10


def test_two_workers_never_get_the_same_task(take: Take) -> None:
    submit_many([NewTask("quick", {}) for _ in range(400)])
    taken: list[str] = []
    errors: list[BaseException] = []
    start = threading.Barrier(4)

    def work(worker: str) -> None:
        try:
            with get_database().connect("test") as own:
                start.wait()
                while batch := take(7, worker=worker, connection=own):
                    taken.extend(each.id for each in batch)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(f"w{i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not errors
    assert len(taken) == len(set(taken)) == 400


def test_a_task_in_somebody_elses_open_transaction_is_not_waited_for(
    take: Take, connection: psycopg.Connection
) -> None:
    first, second = submit("quick", {}).task_id, submit("quick", {}).task_id
    with connection.transaction():
        connection.execute("SELECT FROM callboard.tasks WHERE id = %s FOR UPDATE", [first])
        assert [each.id for each in take(1)] == [second]


def lost_and_claimed_again(take: Take, clock: Clock) -> tuple[Claimed, Claimed]:
    """A zombie's view of the task, and its new owner's."""
    submit("quick", {})
    [old] = take(worker="zombie")
    clock.advance(31)
    assert len(sweep(silent=read_signs()).lost) == 1
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
    desk: Connection, take: Take, clock: Clock, connection: psycopg.Connection, kind: str
) -> None:
    old, _ = lost_and_claimed_again(take, clock)

    def everything() -> list[Any]:
        tables = ("tasks", "leases", "attempts", "events")
        return [connection.execute(f"SELECT * FROM callboard.{table} ORDER BY 1, 2").fetchall() for table in tables]

    before = everything()
    assert not WRITES[kind](desk, old)
    assert everything() == before


def test_a_zombie_cannot_save(take: Take, clock: Clock) -> None:
    old, new = lost_and_claimed_again(take, clock)
    with pytest.raises(LeaseLost):
        leases.save("zombie", old.id, old.epoch, {"paid": True})
    assert leases.save("heir", new.id, new.epoch, {"paid": False}) == {"paid": False}


def test_save_adds_up_and_outlives_the_attempt(desk: Connection, take: Take) -> None:
    submit("quick", {})
    [first] = take()
    leases.save("w1", first.id, first.epoch, {"job": "j1", "page": 1})
    leases.save("w1", first.id, first.epoch, {"page": 2})
    leases.settle(desk, "w1", [Settlement(first.id, first.epoch, "released")])
    [second] = take()
    assert second.checkpoint == {"job": "j1", "page": 2}


def test_release_burns_no_attempt_and_keeps_the_lane(desk: Connection, take: Take) -> None:
    task_id = submit("quick", {}).task_id
    [claimed] = take()
    leases.settle(desk, "w1", [Settlement(claimed.id, claimed.epoch, "released")])
    task = get_task(task_id)
    assert (task.status, task.attempt, task.lane, task.epoch) == ("queued", 0, "primary", 1)
    assert get_attempts(task_id)[0]["outcome"] == "released"


def test_failing_waits_then_dies_after_max_attempts(desk: Connection, take: Take, clock: Clock) -> None:
    task_id = submit("quick", {}).task_id
    for attempt in (1, 2, 3):
        [claimed] = take()
        assert claimed.attempt == attempt
        error = {"type": "Boom", "message": f"no. {attempt}", "category": "unknown", "details": {}, "traceback": "t"}
        leases.settle(desk, "w1", [Settlement(claimed.id, claimed.epoch, "failed", error=error, retry_seconds=5)])
        task = get_task(task_id)
        assert task.status == ("scheduled" if attempt < 3 else "dead")
        assert not take()
        clock.advance(6)
        sweep()
    assert task.lane == "retry"
    assert [error["message"] for error in task.error_history] == ["no. 1", "no. 2", "no. 3"]
    assert task.retry_count == 2


def test_a_permanent_failure_is_dead_at_once(desk: Connection, take: Take) -> None:
    task_id = submit("quick", {}).task_id
    [claimed] = take()
    leases.settle(desk, "w1", [Settlement(claimed.id, claimed.epoch, "failed", error={"type": "InvalidInput"})])
    assert get_task(task_id).status == "dead"


def test_a_retry_that_would_come_too_late_is_dead(desk: Connection, take: Take) -> None:
    task_id = submit("quick", {}, max_age_seconds=10).task_id
    [claimed] = take()
    failed = Settlement(claimed.id, claimed.epoch, "failed", error={"type": "Boom"}, retry_seconds=60)
    leases.settle(desk, "w1", [failed])
    assert get_task(task_id).status == "dead"


def test_settling_twice_changes_nothing_and_can_be_recognized(desk: Connection, take: Take) -> None:
    task_id = submit("quick", {}).task_id
    [claimed] = take()
    leases.settle(desk, "w1", [completed(claimed, 1)])
    assert leases.settle(desk, "w1", [completed(claimed, 2)]) == []
    assert leases.settled_before(desk, "w1", [completed(claimed, 2)]) == {(claimed.id, claimed.epoch)}
    assert leases.settled_before(desk, "w2", [completed(claimed, 2)]) == set()
    assert get_task(task_id).result == 1


def test_a_batch_is_one_statement_and_only_the_owned_rows_move(desk: Connection, take: Take) -> None:
    submit_many([NewTask("quick", {}) for _ in range(3)])
    claimed = take(3)
    outcomes = [completed(claimed[0]), Settlement(claimed[1].id, claimed[1].epoch + 1, "completed")]
    outcomes.append(Settlement(claimed[2].id, claimed[2].epoch, "released"))
    assert {row["id"]: row["status"] for row in leases.settle(desk, "w1", outcomes)} == {
        claimed[0].id: "completed",
        claimed[2].id: "queued",
    }


def test_usage_adds_up_over_attempts(desk: Connection, take: Take) -> None:
    task_id = submit("quick", {}).task_id
    for _ in range(2):
        [claimed] = take()
        leases.report(desk, "w1", [Report(claimed.id, claimed.epoch, 1, tokens=10, cost=0.25)])
        leases.settle(desk, "w1", [Settlement(claimed.id, claimed.epoch, "released")])
    assert get_task(task_id).usage == {"tokens": 20, "cost": 0.5}


def test_events_have_no_gaps_and_no_doubles(desk: Connection, take: Take) -> None:
    task_id = submit("quick", {}).task_id
    [claimed] = take()
    for number, size in enumerate((1, 3, 0, 2), start=1):
        lines = [{"kind": "token", "data": {"size": size}}] * size
        leases.report(desk, "w1", [Report(claimed.id, claimed.epoch, number, progress={"percent": size}, events=lines)])
    leases.settle(desk, "w1", [completed(claimed)])
    assert [event.n for event in get_events(task_id)] == list(range(1, 10))
    assert get_task(task_id).last_event == 9


def test_a_report_that_is_sent_again_is_written_once(desk: Connection, take: Take) -> None:
    """Its answer was lost with a connection, after the commit."""
    task_id = submit("quick", {}).task_id
    for epoch in (1, 2):
        [claimed] = take()
        ours = {(task_id, epoch)}
        events = [{"kind": "token", "data": {"epoch": epoch}}]
        first = Report(task_id, epoch, 1, progress={"percent": 10}, tokens=10, cost=0.25, events=events)
        assert leases.report(desk, "w1", [first]) == ours
        assert leases.report(desk, "w1", [Report(task_id, epoch, 2, progress={"percent": 20})]) == ours
        assert leases.report(desk, "w1", [first]) == ours
        assert get_task(task_id).progress["percent"] == 20
        leases.settle(desk, "w1", [Settlement(task_id, claimed.epoch, "released")])
    assert [event.data["epoch"] for event in get_events(task_id) if event.kind == "token"] == [1, 2]
    assert get_task(task_id).usage == {"tokens": 20, "cost": 0.5}


def test_pulse_renews_and_passes_on_requests(desk: Connection, take: Take, clock: Clock) -> None:
    submit("quick", {})
    [claimed] = take()
    clock.advance(20)
    [held] = registry.pulse(desk, "w1", ["one", "two"], 1).leases
    assert (held.id, held.epoch, held.cancel_requested) == (claimed.id, 1, None)
    clock.advance(20)
    assert not sweep(silent=read_signs()).lost  # 40 seconds after the claim, 20 after the pulse
    assert cancel(claimed.id).status == "running"
    assert registry.pulse(desk, "w1", ["one", "two"], 1).leases[0].cancel_requested == "cancel"


def test_pulse_does_not_wait_for_a_locked_lease(desk: Connection, take: Take, connection: psycopg.Connection) -> None:
    submit("quick", {})
    take()
    with connection.transaction():
        connection.execute("SELECT FROM callboard.leases FOR UPDATE")
        desk.execute("SET lock_timeout = '1s'")
        assert len(registry.pulse(desk, "w1", ["one", "two"], 1).leases) == 1
