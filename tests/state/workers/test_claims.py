"""Claims: the order of starts, lanes, and claims at the same time; and the pulse that keeps them."""

import threading
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from state import NewTask, cancel, get_attempts, get_events, get_task, submit, submit_many
from state.database import Connection, connect
from state.maintenance.sweep import read_last_seen, sweep
from state.workers import leases
from state.workers.leases import Claimed, Report, Settlement
from state.workers.pulse import send_pulse
from tests.support.clock import Clock
from tests.support.observer import Observer

Take = Callable[..., list[Claimed]]


def completed(task: Claimed, result: Any = None) -> Settlement:
    return Settlement(task.id, task.epoch, "completed", result=result)


def test_a_task_from_submit_to_completion(worker_connection: Connection, take: Take) -> None:
    task_id = submit("quick", {"x": 1}, priority=1).task_id
    [claimed] = take()
    assert (claimed.id, claimed.epoch, claimed.attempt, claimed.payload) == (task_id, 1, 1, {"x": 1})
    running = get_task(task_id)
    assert (running.status, running.worker_id, running.attempt) == ("running", "w1", 1)
    assert running.lease_expires_at is not None

    assert leases.settle(worker_connection, "w1", [completed(claimed, {"y": 2})])[0]["status"] == "completed"
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


def test_the_progress_before_the_code_has_reported_any(worker_connection: Connection, take: Take, clock: Clock) -> None:
    task_id = submit("quick", {}).task_id

    def shown() -> tuple[Any, Any]:
        task = get_task(task_id)
        assert task.created_at <= datetime.fromisoformat(task.progress["updated_at"]) <= task.updated_at
        return task.progress["percent"], task.progress["message"]

    assert shown() == (0, "Queued")
    [claimed] = take()
    assert shown() == (0, "Queued")
    said = {"percent": 40, "message": "Almost half", "elapsed_ms": 9}
    leases.report(worker_connection, "w1", [Report(task_id, claimed.epoch, 1, progress=said)])
    assert shown() == (40, "Almost half")
    error: dict[str, Any] = {
        "type": "NetworkTimeout",
        "category": "transient",
        "message": "",
        "details": {},
        "traceback": None,
    }
    leases.settle(worker_connection, "w1", [Settlement(task_id, claimed.epoch, "failed", error=error, retry_seconds=5)])
    assert shown() == (0, "Retrying (attempt 2)")
    clock.advance(6)
    sweep()
    [claimed] = take()
    assert shown() == (0, "Retrying (attempt 2)")
    leases.settle(worker_connection, "w1", [Settlement(task_id, claimed.epoch, "released")])
    assert shown() == (0, "Retrying (attempt 2)")
    [claimed] = take()
    leases.settle(worker_connection, "w1", [Settlement(task_id, claimed.epoch, "failed", error=error)])
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


def test_lanes_share_the_starts(worker_connection: Connection, take: Take, connection: Observer) -> None:
    submit_many([NewTask("quick", {}) for _ in range(2000)])
    connection.execute(
        "UPDATE callboard.tasks SET lane = 'retry' WHERE id IN (SELECT id FROM callboard.tasks LIMIT 1000)"
    )
    lanes = [each.lane for _ in range(60) for each in take(8, retry_share=0.3)]
    assert 0.2 < lanes.count("retry") / len(lanes) < 0.4


@pytest.mark.parametrize("lane", ["primary", "retry"])
def test_an_empty_lane_leaves_its_share_to_the_other(take: Take, connection: Observer, lane: str) -> None:
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
            with connect("test") as own:
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


def test_a_claim_does_not_wait_for_a_locked_task(take: Take, connection: Observer) -> None:
    first, second = submit("quick", {}).task_id, submit("quick", {}).task_id
    with connection.transaction():
        connection.execute("SELECT FROM callboard.tasks WHERE id = %s FOR UPDATE", [first])
        assert [each.id for each in take(1)] == [second]


def test_pulse_renews_and_passes_on_requests(worker_connection: Connection, take: Take, clock: Clock) -> None:
    submit("quick", {})
    [claimed] = take()
    clock.advance(20)
    [held] = send_pulse(worker_connection, "w1", ["one", "two"], 1).leases
    assert (held.id, held.epoch, held.cancel_requested) == (claimed.id, 1, None)
    clock.advance(20)
    assert not sweep(silent=read_last_seen()).lost  # 40 seconds after the claim, 20 after the pulse
    assert cancel(claimed.id).status == "running"
    assert send_pulse(worker_connection, "w1", ["one", "two"], 1).leases[0].cancel_requested == "cancel"


def test_pulse_does_not_wait_for_a_locked_lease(
    worker_connection: Connection, take: Take, connection: Observer
) -> None:
    submit("quick", {})
    take()
    with connection.transaction():
        connection.execute("SELECT FROM callboard.leases FOR UPDATE")
        worker_connection.execute("SET lock_timeout = '1s'")
        assert len(send_pulse(worker_connection, "w1", ["one", "two"], 1).leases) == 1
