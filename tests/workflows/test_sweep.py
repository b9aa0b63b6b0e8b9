"""The sweep: expired approvals, and what an operator left behind."""

from collections.abc import Callable

import pytest

from state import get_task
from state.maintenance.housekeeping import SLOW_TURNS, Housekeeping
from state.workflows import (
    StoredWorkflow,
    get_workflow,
)
from state.workflows.sweep import WorkflowSweep
from tests.support.clock import Clock
from tests.support.observer import Observer
from tests.support.turns import do_turn
from tests.workflows.handworker import HandWorker

Create = Callable[..., StoredWorkflow]
Statuses = Callable[[str], dict[str, str]]

ASK = ({"key": "ask", "kind": "approval"}, {"key": "go", "after": ["ask"]})


def test_the_sweep_finds_nothing_in_practice(create: Create, hand: HandWorker) -> None:
    for _ in range(3):
        create({"key": "a"}, *ASK)
    hand.run("a")
    assert WorkflowSweep().take_turn() == []


def test_the_sweep_heals_what_an_operator_left(
    create: Create, hand: HandWorker, connection: Observer, statuses: Statuses
) -> None:
    workflow = create({"key": "a"}, {"key": "b", "after": ["a"]})
    with connection.transaction():
        connection.execute("SET LOCAL session_replication_role = replica")  # no triggers
        connection.execute(
            "UPDATE callboard.tasks SET status = 'completed', result = '{\"x\": 1}' WHERE id = %s",
            [workflow.get_step("a").task_id],
        )
    found = {row["invariant"] for row in connection.execute("SELECT invariant FROM admin.invariants").fetchall()}
    assert found == {"step running without a live task", "workflow running with nothing alive"}
    assert WorkflowSweep().take_turn() == [workflow.workflow_id]
    assert statuses(workflow.workflow_id) == {"a": "completed", "b": "running"}


def test_the_sweep_goes_on_where_it_stopped(create: Create, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [create({"key": "a"}).workflow_id for _ in range(3)]
    monkeypatch.setattr("state.workflows.sweep.BATCH", 2)
    sweep = WorkflowSweep()
    positions = []
    for _ in range(3):
        assert sweep.take_turn() == []
        positions.append(sweep.position)
    assert positions == [ids[1], "", ids[1]]


def test_one_workflow_that_cannot_go_on_does_not_hold_up_the_others(
    create: Create, hand: HandWorker, connection: Observer, clock: Clock
) -> None:
    """The end of its task is kept, the maintainer goes on, and when the cause is gone, so does the workflow."""
    bad = create({"key": "a"}, {"key": "b", "after": ["a"]})
    good = create({"key": "ask", "kind": "approval", "expires_seconds": 60.0})
    start_step = connection.fetch_one("SELECT pg_get_functiondef('callboard.start_step'::regproc) AS text")["text"]
    connection.execute(
        "CREATE OR REPLACE FUNCTION callboard.start_step(its_workflow text, its_key text) RETURNS void "
        "LANGUAGE plpgsql AS $$ BEGIN RAISE 'a bug' USING ERRCODE = '22000'; END $$"
    )
    hand.run("a")
    assert get_task(bad.get_step("a").task_id or "").status == "completed"
    clock.advance(61)
    housekeeping = Housekeeping()
    do_turn(housekeeping)
    assert get_workflow(good.workflow_id).status == "failed"
    connection.execute(start_step)
    for _ in range(SLOW_TURNS):
        do_turn(housekeeping)
    assert get_workflow(bad.workflow_id).get_step("b").status == "running"
