"""The agent `analytics` reports a day."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import state
from actors.agent import agent
from broker.testing import run_actor
from providers.errors import InvalidInput
from state.errors import InvalidPayload
from state.metrics.measurement import Measurement
from tests.metrics.clock import START, StandingClock
from tests.support.builders import TaskBuilder
from tests.support.clock import Clock
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.support.workers import WorkerTree

WRITER = {"agent_name": "writer", "task_type": "draft"}


def report(**request: Any) -> Any:
    return run_actor(agent, {"agent_name": "analytics", "task_type": "daily", "input": request}).result


@pytest.fixture
def two_days(make_task: TaskBuilder, clock: StandingClock, connection: Observer) -> Measurement:
    """2031-05-06: one completed. 2031-05-07: `quick` 3 completed and 1 dead, an agent 1 completed and 1 dead."""
    connection.execute(
        "INSERT INTO callboard.workers (id, host, boot_id, pid_namespace, pid, queues, actors, threads, started_at,"
        " seen_at) VALUES ('w', 'h', 'b', 'n', 1, '{one}', '{}', 8, callboard.now(), callboard.now())"
    )
    make_task("completed")
    clock.advance(days=1)
    connection.execute("UPDATE callboard.workers SET seen_at = callboard.now() - interval '4 seconds'")
    maintainer = Measurement()
    for _ in range(3):
        make_task("completed")
    make_task("dead")
    make_task("dead", actor="agent", payload=WRITER)
    make_task("completed", actor="agent", payload=WRITER)
    while maintainer.take_turn():
        pass
    return maintainer


def test_a_tenant_does_not_get_the_figures_of_all() -> None:
    with pytest.raises(InvalidInput, match="all tenants"):
        run_actor(agent, {"agent_name": "analytics", "task_type": "daily", "input": {}}, tenant="a")


def test_a_day_that_is_over(two_days: Measurement, clock: StandingClock, connection: Observer) -> None:
    clock.advance(days=1)
    connection.execute("UPDATE callboard.workers SET stopped_at = now()")
    while two_days.take_turn():
        pass
    found = report()
    assert (found["date"], found["complete"]) == ("2031-05-07", True), "yesterday"
    totals = {"tasks_created": 7, "tasks_completed": 4, "tasks_failed": 2, "attempts": 6, "attempts_failed": 2}
    assert totals.items() <= found["totals"].items()  # the seventh is the embedding of the agent's result
    assert found["totals"]["error_rate"] == pytest.approx(2 / 6)
    assert (found["day_before"]["tasks_created"], found["day_before"]["error_rate"]) == (1, 0)
    assert [(group["actor"], group["tasks_created"]) for group in found["groups"]] == [
        ("quick", 4), ("agent", 2), ("embedding", 1)
    ]  # fmt: skip
    assert [(group["agent_name"], group["error_rate"]) for group in found["most_failing"]] == [
        ("writer", 0.5),
        ("", 0.25),
    ]
    assert found["worker_heartbeat_delay"] == 4
    text = found["text"]
    assert text.startswith("# Task queues on 2031-05-07\n")
    assert "- Created: 7 (+6 against the day before, +600%)" in text
    assert "| writer / draft | 2 | 1 | 1 | 50.0% | 0.0 s | 0.0 s |" in text


def test_a_day_that_is_not_over_says_so(two_days: Measurement) -> None:
    found = report(date="2031-05-07", top=1)
    assert found["complete"] is False
    assert "(not complete)" in found["text"]
    later = report(date=(START + timedelta(days=9)).date().isoformat())
    assert (later["complete"], later["groups"], later["totals"]["error_rate"]) == (False, [], None)
    assert "No tasks." in later["text"]


def test_the_lists_are_as_long_as_asked_for(two_days: Measurement, clock: StandingClock) -> None:
    clock.advance(days=1)
    while two_days.take_turn():
        pass
    assert [len(report(top=top)["most_failing"]) for top in (1, 5)] == [1, 2]


@pytest.mark.parametrize("wrong", [{"date": "soon"}, {"date": "0001-01-01"}, {"top": 0}, {"days": 3}])
def test_wrong_input_is_refused(database_url: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidPayload, match=r"payload\.input"):
        state.submit("agent", {"agent_name": "analytics", "task_type": "daily", "input": wrong})


def test_in_a_real_worker_yesterday_is_measured_and_reported(
    connection: Observer, worker: Callable[..., WorkerTree]
) -> None:
    """From a submit over the maintainer's turn to the report, which becomes an agent event like any other."""
    first = state.submit("agent", {"agent_name": "text", "task_type": "statistics", "input": {"text": "Two words."}})
    moved = Clock(connection)
    worker()
    eventually(lambda: state.get_task(first.task_id).status == "completed")
    moved.advance(24 * 3600)
    measured = "SELECT measured_until > callboard.now() - interval '2 minutes' AS done FROM callboard.metrics_progress"
    eventually(lambda: connection.fetch_one(measured)["done"])
    task = state.submit("agent", {"agent_name": "analytics", "task_type": "daily"})
    assert task.priority == 3
    eventually(lambda: state.get_task(task.task_id).finished)
    done = state.get_task(task.task_id)
    assert done.status == "completed", done.error
    text = [group for group in done.result["groups"] if group["agent_name"] == "text"]
    assert [(group["tasks_completed"], group["tasks_failed"]) for group in text] == [(1, 0)]
    event = connection.fetch_one("SELECT * FROM callboard.agent_events WHERE task_id = %s", [task.task_id])
    assert (event["agent_name"], event["task_type"]) == ("analytics", "daily")
