"""What is counted, and for whom."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import state
from state.database import Connection
from state.maintenance.losses import recover
from state.maintenance.sweep import sweep_due, sweep_expired, sweep_unknown
from state.workers import leases
from state.workers.leases import Claimed, Settlement
from tests.metrics.clock import START, StandingClock
from tests.metrics.conftest import Counts
from tests.support.builders import TaskBuilder
from tests.support.claims import BOOM, Claimer
from tests.support.observer import Observer

WRITER = {"agent_name": "writer", "task_type": "draft", "input": {}}
TEXT = {"agent_name": "text", "task_type": "statistics", "input": {}}


def fail(connection: Connection, claimed: Claimed, retry_seconds: float | None = None) -> None:
    end = Settlement(claimed.id, claimed.epoch, "failed", error=BOOM, retry_seconds=retry_seconds)
    leases.settle(connection, "w1", [end])


def complete(connection: Connection, claimed: Claimed) -> None:
    leases.settle(connection, "w1", [Settlement(claimed.id, claimed.epoch, "completed", result={})])


def read_row(connection: Observer, actor: str) -> dict[str, object]:
    return connection.fetch_one("SELECT * FROM callboard.task_queue_metrics WHERE actor = %s", [actor])


def test_each_way_that_a_task_can_go_is_counted_once(
    make_task: TaskBuilder, clock: StandingClock, measure: Callable[[], int], counts: Callable[[], Counts]
) -> None:
    for status in ("queued", "scheduled", "waiting", "running", "paused", "completed", "completed", "canceled", "dead"):
        make_task(status, actor="slow" if status == "waiting" else "quick")
    make_task("completed", actor="agent", payload=WRITER)
    make_task("dead", actor="agent", payload=WRITER)
    make_task("dead", actor="agent", payload=TEXT)
    make_task("completed", actor="slow", payload=WRITER)  # an agent's name in another actor's payload means nothing
    assert measure() == 0
    assert counts() == {}, "the minute is not over"
    clock.advance(minutes=1)
    measure()
    assert counts() == {
        ("12:00", "quick", "", ""): (8, 2, 1, 3, 1),
        ("12:00", "slow", "", ""): (2, 1, 0, 1, 0),
        ("12:00", "agent", "writer", "draft"): (2, 1, 1, 2, 1),
        ("12:00", "agent", "text", "statistics"): (1, 0, 1, 1, 1),
    }


def test_retries_and_lost_workers_are_failed_attempts_and_no_failed_tasks(
    make_task: TaskBuilder,
    take: Claimer,
    worker_connection: Connection,
    clock: StandingClock,
    measure: Callable[[], int],
    counts: Callable[[], Counts],
) -> None:
    task = make_task()
    fail(worker_connection, take()[0], retry_seconds=30)
    clock.advance(minutes=1)
    assert len(sweep_due()) == 1
    take(worker="gone")
    assert len(recover(["gone"])) == 1
    clock.advance(minutes=1)
    [claimed] = take()
    leases.settle(worker_connection, "w1", [Settlement(claimed.id, claimed.epoch, "released")])
    complete(worker_connection, take()[0])
    clock.advance(minutes=1)
    measure()
    assert state.get_task(task.task_id).status == "completed"
    assert counts() == {
        ("12:00", "quick", "", ""): (1, 0, 0, 1, 1),
        ("12:01", "quick", "", ""): (0, 0, 0, 1, 1),
        ("12:02", "quick", "", ""): (0, 1, 0, 1, 0),
    }


def test_what_was_stopped_on_request_is_no_failure(
    make_task: TaskBuilder,
    worker_connection: Connection,
    clock: StandingClock,
    measure: Callable[[], int],
    counts: Callable[[], Counts],
) -> None:
    for verb in (state.cancel, state.pause):
        task = make_task("running")
        verb(task.task_id)
        end = Settlement(task.task_id, task.epoch, "failed", error=BOOM, retry_seconds=1)
        leases.settle(worker_connection, "w1", [end])
    clock.advance(minutes=1)
    measure()
    assert counts() == {("12:00", "quick", "", ""): (2, 0, 0, 0, 0)}


def test_tasks_that_die_without_an_attempt_are_counted(
    make_task: TaskBuilder,
    take: Claimer,
    clock: StandingClock,
    measure: Callable[[], int],
    counts: Callable[[], Counts],
) -> None:
    make_task(max_age_seconds=30)
    make_task(actor="slow")
    assert take(known_actors=["quick"], queues=["two"]) == []
    clock.advance(minutes=15)
    assert len(sweep_expired()) == 1
    assert len(sweep_unknown()) == 1
    clock.advance(minutes=1)
    measure()
    assert counts()["12:15", "quick", "", ""] == (0, 0, 1, 0, 0)
    assert counts()["12:15", "slow", "", ""] == (0, 0, 1, 0, 0)


def test_a_revived_task_counts_again_for_its_new_agent_when_it_ends(
    make_task: TaskBuilder,
    take: Claimer,
    worker_connection: Connection,
    connection: Observer,
    clock: StandingClock,
    measure: Callable[[], int],
    counts: Callable[[], Counts],
) -> None:
    task = make_task("dead", actor="agent", payload=WRITER)
    clock.advance(minutes=1)
    measure()
    state.retry(task.task_id, payload=TEXT)
    complete(worker_connection, take()[0])
    clock.advance(minutes=10)
    measure()
    clock.advance(minutes=1)
    measure()
    assert counts() == {
        ("12:00", "agent", "writer", "draft"): (1, 0, 1, 1, 1),
        ("12:01", "agent", "text", "statistics"): (0, 1, 0, 1, 0),
    }
    connection.execute("UPDATE callboard.metrics_progress SET measured_until = %s", [START])
    measure()  # counted again, the first minute belongs to the agent that the task has now, and only to that
    assert counts() == {
        ("12:00", "agent", "text", "statistics"): (1, 0, 1, 1, 1),
        ("12:01", "agent", "text", "statistics"): (0, 1, 0, 1, 0),
    }


@pytest.mark.parametrize(
    "options", [{}, {"delay_seconds": 600.0}, {"available_at": START - timedelta(days=1)}], ids=["now", "later", "past"]
)
def test_latency_counts_from_entering_the_queue(
    make_task: TaskBuilder,
    take: Claimer,
    worker_connection: Connection,
    connection: Observer,
    clock: StandingClock,
    measure: Callable[[], int],
    options: dict[str, Any],
) -> None:
    make_task("scheduled" if "delay_seconds" in options else "queued", **options)
    clock.advance(seconds=options.get("delay_seconds", 0))
    sweep_due()
    clock.advance(seconds=20)
    complete(worker_connection, take()[0])
    clock.advance(minutes=1)
    measure()
    row = connection.fetch_one("SELECT * FROM callboard.task_queue_metrics WHERE tasks_completed = 1")
    assert (row["latency_sum"], row["latency_max"], row["average_latency"]) == (20, 20, 20)


@pytest.mark.parametrize("scheduled", [False, True])
def test_latency_includes_retries_and_begins_anew_when_a_task_is_revived(
    make_task: TaskBuilder,
    take: Claimer,
    worker_connection: Connection,
    connection: Observer,
    clock: StandingClock,
    measure: Callable[[], int],
    scheduled: bool,
) -> None:
    make_task("scheduled" if scheduled else "queued")
    if scheduled:
        clock.advance(hours=1)
        sweep_due()
    fail(worker_connection, take()[0], retry_seconds=100)
    clock.advance(seconds=100)
    sweep_due()
    complete(worker_connection, take()[0])
    dead = make_task("dead", actor="slow")
    clock.advance(hours=1)
    state.retry(dead.task_id)
    clock.advance(seconds=7)
    complete(worker_connection, take()[0])
    clock.advance(minutes=1)
    measure()
    rows = connection.execute(
        "SELECT actor, average_latency FROM callboard.task_queue_metrics WHERE tasks_completed > 0 ORDER BY minute"
    ).fetchall()
    assert [(row["actor"], row["average_latency"]) for row in rows] == [("quick", 100.0), ("slow", 7.0)]


def test_rates_and_averages_follow_from_the_sums(
    make_task: TaskBuilder, connection: Observer, clock: StandingClock, measure: Callable[[], int]
) -> None:
    for status in ("completed", "dead", "completed", "completed"):
        make_task(status)
    make_task("queued", actor="slow")
    clock.advance(minutes=1)
    measure()
    quick, slow = read_row(connection, "quick"), read_row(connection, "slow")
    assert (quick["error_rate"], quick["average_latency"]) == (0.25, 0.0)
    assert (slow["error_rate"], slow["average_latency"], slow["latency_max"]) == (None, None, None)
