"""What is wrong, told in sentences: each trouble comes, says what it costs, and goes."""

from typing import Any

import pytest

from state import submit
from state.access.caller import Caller
from state.gates.operations import put_gate
from state.overview.reads import get_overview
from state.overview.troubles import Trouble
from tests.metrics.clock import StandingClock
from tests.overview.conftest import Enroll
from tests.support.builders import TaskBuilder
from tests.support.observer import Observer


def troubles(**options: Any) -> dict[str, Trouble]:
    return {trouble.kind: trouble for trouble in get_overview(**options).troubles}


def test_no_worker(make_task: TaskBuilder, enroll: Enroll, clock: StandingClock) -> None:
    beat = enroll()
    make_task("running")
    make_task("queued")
    assert troubles() == {}
    seen = clock.now
    clock.advance(seconds=7)
    assert troubles() == {}
    clock.advance(seconds=2)
    silent = troubles()["no-worker"]
    assert (silent.since, silent.tasks) == (seen, 2)
    assert silent.detail == "Nothing starts and nothing goes on: 1 task queued, 1 interrupted; none is lost."
    assert list(troubles(caller=Caller("reader", tenant="acme"))) == ["no-worker"]
    beat()
    assert troubles() == {}


def test_nobody_does_the_housekeeping(enroll: Enroll, clock: StandingClock, connection: Observer) -> None:
    beat = enroll()
    begun = clock.now
    connection.execute("UPDATE callboard.maintainer SET worker_id = NULL, expires_at = NULL")
    assert troubles() == {}, "a worker that has just started takes it over in a moment"
    clock.advance(seconds=11)
    connection.execute("UPDATE callboard.workers SET seen_at = callboard.now()")
    assert troubles()["no-maintainer"].since == begun
    beat()
    assert troubles() == {}


def test_a_queue_without_a_worker(enroll: Enroll) -> None:
    enroll("w1", "one")
    submit("quick", {})
    assert troubles() == {}
    submit("slow", {})
    found = troubles()["queue-without-worker"]
    assert (found.subject, found.tasks, found.detail) == ("two", 1, "1 task of it cannot start.")


def test_an_actor_that_nobody_knows(enroll: Enroll, connection: Observer, clock: StandingClock) -> None:
    enroll()
    mine = submit("quick", {}, tenant="acme").task_id
    connection.execute(
        "UPDATE callboard.tasks SET actor = 'typo', status = 'waiting', waiting_gate = 'actor:typo' WHERE id = %s",
        [mine],
    )
    found = troubles()["unknown-actor"]
    assert (found.title, found.tasks, found.since) == ("No worker knows the actor typo.", 1, clock.now)
    assert "after 10 minutes" in found.detail
    assert "unknown-actor" in troubles(caller=Caller("reader", tenant="acme"))
    assert troubles(caller=Caller("reader", tenant="other")) == {}


def test_an_open_breaker(make_task: TaskBuilder, enroll: Enroll, clock: StandingClock, connection: Observer) -> None:
    enroll()
    dead = make_task("dead", error_type="ServiceUnavailable")
    waiting = make_task("waiting", tenant="acme")
    connection.execute(
        "INSERT INTO callboard.gates (key, breaker_threshold, breaker_state, breaker_changed_at) "
        "VALUES ('provider:x', 0.5, 'open', callboard.now())"
    )
    results = (
        "INSERT INTO callboard.gate_results (gate, task_id, epoch, failed, at) VALUES ('provider:x', %s, 1, %s, %s)"
    )
    for failed in (True, True, False):
        connection.execute(results, [dead.task_id, failed, clock.now])
    connection.execute("UPDATE callboard.tasks SET waiting_gate = 'provider:x' WHERE id = %s", [waiting.task_id])
    found = troubles()["breaker-open"]
    assert found.title == "x does not work."
    assert (
        found.detail
        == "2 of 3 tasks failed there, the last with ServiceUnavailable. 1 task waits there; no attempt is spent."
    )
    assert (found.since, found.subject) == (clock.now, "provider:x")
    assert found.ends_at is not None
    assert (found.ends_at - clock.now).total_seconds() == 60
    assert "breaker-open" in troubles(caller=Caller("reader", tenant="acme"))
    assert "breaker-open" not in troubles(caller=Caller("reader", tenant="other"))


def test_a_closed_gate_and_a_paused_queue(make_task: TaskBuilder, enroll: Enroll) -> None:
    enroll()
    put_gate("queue:one", paused=True)
    put_gate("tenant:acme", paused=True)
    assert troubles() == {}, "nobody waits"
    make_task("queued")
    put_gate("queue:one", paused=False)
    make_task("waiting", tenant="acme")
    put_gate("queue:one", paused=True)
    found = troubles()
    assert (found["queue-paused"].tasks, found["gate-closed"].subject) == (1, "tenant:acme")


@pytest.mark.parametrize(("seconds", "kind"), [(59, None), (61, "stalled")])
def test_nothing_starts(seconds: float, kind: str | None, enroll: Enroll, clock: StandingClock) -> None:
    beat = enroll()
    submit("quick", {})
    begun = clock.now
    clock.advance(seconds=seconds)
    beat()
    assert list(troubles()) == ([kind] if kind else [])
    if kind:
        assert troubles()[kind].since == begun


def test_tasks_start_late(make_task: TaskBuilder, enroll: Enroll, clock: StandingClock) -> None:
    beat = enroll()
    for _ in range(2):
        submit("quick", {})
    clock.advance(seconds=301)
    make_task("running")
    beat()
    found = troubles()["late"]
    assert (found.tasks, found.detail) == (2, "2 tasks are queued.")
