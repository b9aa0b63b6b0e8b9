"""The numbers of the overview, for all and for a tenant."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from state import submit
from state.access.caller import Caller
from state.gates.operations import put_gate
from state.metrics.measurement import measure_tasks
from state.overview.reads import get_overview
from tests.metrics.clock import START, StandingClock
from tests.overview.conftest import Enroll
from tests.support.builders import TaskBuilder
from tests.support.observer import Observer

ACME = Caller("reader", tenant="acme")


@pytest.fixture
def measure(clock: StandingClock) -> Callable[[], None]:
    def measure() -> None:
        while measure_tasks(600):
            pass

    return measure


def test_an_empty_system() -> None:
    found = get_overview()
    assert set(found.states.values()) == {0}
    assert [queue["queue"] for queue in found.queues] == ["one", "two"]
    assert (found.dead_letters, found.gates, found.workers) == ([], [], [])
    assert [trouble.title for trouble in found.troubles] == ["There has never been a worker."]


def test_states_and_queues(make_task: TaskBuilder, clock: StandingClock, enroll: Enroll) -> None:
    enroll()
    for status in ("scheduled", "waiting", "paused", "canceled", "completed", "completed", "dead", "running"):
        make_task(status)
    clock.advance(seconds=20)
    enroll()
    submit("slow", {})
    submit("slow", {})
    put_gate("queue:two", paused=True)
    found = get_overview()
    assert found.states == {
        "scheduled": 1, "queued": 2, "waiting": 1, "running": 1, "paused": 1, "completed": 2, "canceled": 1, "dead": 1,
    }  # fmt: skip
    one, two = found.queues
    assert one == {
        "queue": "one", "primary": 0, "retry": 0, "running": 1, "oldest_seconds": None, "paused": False,
        "consumed": True,
    }  # fmt: skip
    assert (two["primary"], two["oldest_seconds"], two["paused"]) == (2, 0, True)
    assert found.places == {"threads": 8, "coroutines": 100}
    [worker] = found.workers or []
    assert (worker["threads_busy"], worker["coroutines_busy"], worker["maintainer"]) == (1, 0, True)


def test_a_tenant_sees_its_own(make_task: TaskBuilder, clock: StandingClock, measure: Callable[[], None]) -> None:
    make_task("dead", tenant="acme", error_type="Mine")
    make_task("dead", tenant="other", error_type="Theirs")
    make_task("completed", tenant="other")
    make_task("queued", tenant="other")
    clock.advance(seconds=5)
    make_task("queued", tenant="acme")
    clock.advance(seconds=3)
    found = get_overview(caller=ACME)
    assert (found.states["queued"], found.states["dead"], found.states["completed"]) == (1, 1, None)
    assert [queue["oldest_seconds"] for queue in found.queues] == [3, None]
    assert [group["error_type"] for group in found.dead_letters] == ["Mine"]
    assert (found.gates, found.workers) == (None, None)
    clock.advance(minutes=1)
    measure()
    own, everything = get_overview(caller=ACME).history[-1], get_overview().history[-1]
    assert (own["created"], own["died"], own["completed"]) == (2, 1, 0)
    assert (everything["created"], everything["died"], everything["completed"]) == (5, 2, 1)


def test_gates_and_workers_are_for_operators() -> None:
    found = get_overview(caller=Caller("reader"))
    assert (found.gates, found.workers) == (None, None)
    assert get_overview(caller=Caller("operator")).gates == []


def test_history_tells_waiting_from_running(
    make_task: TaskBuilder, clock: StandingClock, measure: Callable[[], None], connection: Observer
) -> None:
    for minute in range(3):
        task = make_task("completed", tenant="acme")
        moved = (
            "UPDATE callboard.tasks SET created_at = %(at)s, available_at = %(at)s, started_at = %(from)s "
            "WHERE id = %(id)s"
        )
        begun = {"at": clock.now - timedelta(seconds=10), "from": clock.now - timedelta(seconds=4), "id": task.task_id}
        connection.execute(moved, begun)
        clock.set(START + timedelta(minutes=minute + 1))
    measure()
    for caller in (Caller("operator"), ACME):
        history = get_overview(caller=caller).history
        assert len(history) == 60
        assert [row["completed"] for row in history[-4:]] == [0, 1, 1, 1]
        assert (history[-1]["start_seconds"], history[-1]["run_seconds"]) == (6, 4)
        assert history[0]["run_seconds"] is None
        assert get_overview(caller=caller).per_minute["completed"] == 3 / 5


def test_a_minute_that_is_measured_again_counts_once_for_a_tenant(
    make_task: TaskBuilder, clock: StandingClock, measure: Callable[[], None], connection: Observer
) -> None:
    make_task("completed", tenant="acme")
    clock.advance(minutes=1)
    measure()
    connection.execute("UPDATE callboard.metrics_progress SET measured_until = %s", [START])
    measure()
    assert get_overview(caller=ACME).history[-1]["completed"] == 1


def test_dead_letters_by_error(make_task: TaskBuilder, clock: StandingClock) -> None:
    make_task("dead", error_type="Rare", actor="slow")
    for _ in range(2):
        make_task("dead", error_type="Often")
    often, rare = get_overview().dead_letters
    assert (often["actor"], often["error_type"], often["tasks"], often["message"]) == ("quick", "Often", 2, "no luck")
    assert (rare["actor"], rare["tasks"], rare["finished_at"]) == ("slow", 1, clock.now)


def test_gates_say_when_the_next_task_can_start(
    make_task: TaskBuilder, connection: Observer, clock: StandingClock
) -> None:
    """Also those that nobody has declared."""
    until = clock.now + timedelta(seconds=90)
    for key in ("tenant:acme", "provider:x", "target:car"):
        task = make_task("waiting", tenant="acme")
        connection.execute("UPDATE callboard.tasks SET waiting_gate = %s WHERE id = %s", [key, task.task_id])
    put_gate("tenant:acme", paused=False, closed_until=until)
    found = {gate["key"]: gate for gate in get_overview().gates or []}
    assert (found["tenant:acme"]["state"], found["tenant:acme"]["next_at"]) == ("closed", until)
    assert (found["provider:x"]["state"], found["provider:x"]["waiting"]) == ("open", 1)
    assert (found["target:car"]["state"], found["target:car"]["breaker_state"]) == ("blocked", "closed")
