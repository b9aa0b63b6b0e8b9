"""Tasks of an actor that no worker knows wait for a worker that does, but not forever."""

from collections.abc import Callable

import pytest
import structlog
from structlog.testing import LogCapture

from state import get_events, get_task, submit
from state.maintenance import housekeeping
from state.maintenance.housekeeping import Housekeeping
from state.maintenance.sweep import sweep_unknown
from state.workers.health import read_system_health
from state.workers.identity import Identity
from state.workers.registry import list_awaited_actors, mark_stopped, register
from tests.support.clock import Clock
from tests.support.observer import Observer
from tests.support.turns import do_turn

Park = Callable[[str], str]


@pytest.fixture
def park(connection: Observer) -> Park:
    """Makes a task wait, as a claim of a worker that does not know its actor does."""

    def park(actor: str) -> str:
        task_id = submit("quick", {}).task_id
        connection.execute(
            "UPDATE callboard.tasks SET status = 'waiting', actor = %s, waiting_gate = 'actor:' || %s, "
            "updated_at = callboard.now() WHERE id = %s",
            [actor, actor, task_id],
        )
        return task_id

    return park


@pytest.fixture(autouse=True)
def lines_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests wake the lines of the other gates."""
    monkeypatch.setattr(housekeeping, "sweep_lines", lambda after: ([], after))


def test_a_worker_that_registers_opens_the_gates_of_its_actors(park: Park) -> None:
    first, second, other = park("painter"), park("painter"), park("singer")
    register(Identity.of_this_process(), ["one"], 8, ["dancer"])
    assert [get_task(each).status for each in (first, second, other)] == ["waiting"] * 3
    register(Identity.of_this_process(), ["one"], 8, ["painter"])
    assert [get_task(each).status for each in (first, second, other)] == ["queued", "queued", "waiting"]


def test_after_a_while_they_are_dead_with_the_reason(park: Park, clock: Clock) -> None:
    old = park("painter")
    clock.advance(599)
    young = park("singer")
    do_turn()
    assert get_task(old).status == "waiting"
    clock.advance(2)
    do_turn()
    task = get_task(old)
    assert task.status == "dead"
    assert task.error is not None
    assert (task.error["type"], task.error["category"]) == ("UnknownActor", "deploy")
    assert "'painter'" in task.error["message"]
    assert "No worker knows" in task.error["message"]
    assert (task.attempt, get_task(young).status) == (0, "waiting")
    assert get_events(old)[-1].data["error"]["type"] == "UnknownActor"


def test_a_task_whose_actor_is_known_is_woken_again_and_does_not_die(park: Park, clock: Clock) -> None:
    """The wake-up may have come before the task began to wait."""
    register(Identity.of_this_process(), ["one"], 8, ["painter"])
    task_id = park("painter")
    clock.advance(601)
    assert sweep_unknown() == []
    do_turn()
    assert get_task(task_id).status == "queued"


def test_a_worker_of_other_queues_or_one_that_has_stopped_does_not_count(park: Park) -> None:
    park("painter")
    register(elsewhere := Identity.of_this_process(), ["two"], 8, ["painter"])
    assert [row["known"] for row in list_awaited_actors()] == [False]
    register(here := Identity.of_this_process(), ["one"], 8, [])
    assert [row["known"] for row in list_awaited_actors()] == [False]
    register(here, ["one"], 8, ["painter"])
    assert [row["known"] for row in list_awaited_actors()] == []  # woken by registering
    park("painter")
    assert [row["known"] for row in list_awaited_actors()] == [True]
    mark_stopped([here.id])
    assert [row["known"] for row in list_awaited_actors()] == [False]
    assert elsewhere.id != here.id


def test_the_log_and_the_health_name_them(park: Park, monkeypatch: pytest.MonkeyPatch) -> None:
    register(Identity.of_this_process(), ["one"], 8, ["dancer"])
    for actor in ("painter", "painter", "singer"):
        park(actor)
    lines = LogCapture()
    logger = structlog.wrap_logger(None, processors=[lines], wrapper_class=structlog.BoundLogger)
    monkeypatch.setattr(housekeeping, "log", logger)
    work = Housekeeping()
    do_turn(work)
    do_turn(work)
    said = [(line["actor"], line["log_level"]) for line in lines.entries]
    assert said == [("painter", "warning"), ("singer", "warning")]
    assert read_system_health().unknown_actors == ["painter", "singer"]
