"""What follows from the end of a task may fail; the end is kept, and what was left behind is found."""

from collections.abc import Callable

import psycopg
import pytest

from state import get_task
from state.workers import leases
from state.workflows import StoredWorkflow, get_workflow
from state.workflows.sweep import WorkflowSweep
from tests.support.observer import Observer
from tests.workflows.handworker import HandWorker

Create = Callable[..., StoredWorkflow]

_BROKEN = (
    "CREATE OR REPLACE FUNCTION callboard.{}({}) RETURNS void LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'broken' USING ERRCODE = '{}'; END $$"
)


class Breaker:
    """Replaces a function by one that fails."""

    def __init__(self, connection: Observer, name: str, parameters: str) -> None:
        self._connection = connection
        self._signature = name, parameters
        query = f"SELECT pg_get_functiondef('callboard.{name}'::regproc) AS text"
        self._right = connection.fetch_one(query)["text"]

    def fail_with(self, code: str) -> None:
        self._connection.execute(_BROKEN.format(*self._signature, code))

    def repair(self) -> None:
        self._connection.execute(self._right)


@pytest.fixture
def breaker(connection: Observer) -> Breaker:
    return Breaker(connection, "advance_workflow", "its_id text")


def test_bad_data_of_a_workflow_loses_no_result_and_the_sweep_goes_on(
    create: Create, hand: HandWorker, breaker: Breaker, connection: Observer
) -> None:
    workflow = create({"key": "a"}, {"key": "b", "after": ["a"]})
    hand.take()
    breaker.fail_with("22023")
    settled, busy = leases.try_settle(hand.connection, hand.name, [hand.make_end("a")])
    assert ([row["status"] for row in settled], busy) == (["completed"], set())
    task_id = get_workflow(workflow.workflow_id).get_step("a").task_id
    assert task_id is not None
    assert get_task(task_id).status == "completed"
    left = connection.execute("SELECT invariant FROM admin.invariants").fetchall()
    assert left, "what was left behind can be seen"
    breaker.repair()
    assert WorkflowSweep().take_turn() == [workflow.workflow_id]
    assert hand.take() == ["b"]


@pytest.mark.parametrize("code", ["40P01", "55P03", "53100"])
def test_an_error_that_another_try_may_cure_undoes_the_end(
    create: Create, hand: HandWorker, breaker: Breaker, code: str
) -> None:
    workflow = create({"key": "a"}, {"key": "b", "after": ["a"]})
    hand.take()
    end = hand.make_end("a")
    breaker.fail_with(code)
    with pytest.raises(psycopg.Error, match="broken"):
        leases.try_settle(hand.connection, hand.name, [end])
    breaker.repair()
    leases.try_settle(hand.connection, hand.name, [end])
    assert get_workflow(workflow.workflow_id).get_step("b").status == "running"


def test_an_agent_event_that_cannot_be_written_does_not_hold_up_the_workflow(
    create: Create, hand: HandWorker, connection: Observer
) -> None:
    create({"key": "a"}, {"key": "b", "after": ["a"]})
    hand.take()
    Breaker(connection, "record_agent_event", "t callboard.tasks").fail_with("22023")
    hand.complete("a")
    assert hand.take() == ["b"]
