"""Steps that wait for a person."""

from collections.abc import Callable

import pytest

from state import retry
from state.errors import (
    IllegalStep,
    InvalidPayload,
    StepNotFound,
    StepsStillFailed,
    WorkflowNotFound,
)
from state.tasks.events import get_events
from state.tasks.ids import new_workflow_id
from state.workflows import (
    StoredWorkflow,
    approve,
    get_workflow,
    reject,
    resume_workflow,
)
from state.workflows.sweep import WorkflowSweep
from tests.support.clock import Clock
from tests.support.turns import do_turn
from tests.workflows.handworker import HandWorker

Create = Callable[..., StoredWorkflow]
Statuses = Callable[[str], dict[str, str]]

ASK = ({"key": "ask", "kind": "approval"}, {"key": "go", "after": ["ask"]})


def test_an_approval_holds_no_worker_and_is_in_the_history(
    create: Create, hand: HandWorker, statuses: Statuses
) -> None:
    its_id = create(*ASK).workflow_id
    assert statuses(its_id) == {"ask": "waiting", "go": "pending"}
    assert hand.take() == []
    approve(its_id, "ask", by="anna", note="go ahead")
    step = get_workflow(its_id).get_step("ask")
    assert (step.status, step.decision, step.decided_by, step.note) == ("completed", "approved", "anna", "go ahead")
    assert step.decided_at is not None
    [event] = [event for event in get_events(its_id) if event.data.get("decision")]
    assert event.data == {
        "step": "ask", "from": "waiting", "to": "completed", "decision": "approved", "by": "anna", "note": "go ahead",
    }  # fmt: skip
    hand.run("go")
    assert get_workflow(its_id).status == "completed"


def test_a_decision_can_be_repeated_but_not_changed(create: Create, hand: HandWorker) -> None:
    its_id = create(*ASK).workflow_id
    approve(its_id, "ask", by="anna")
    approve(its_id, "ask", by="bob")
    assert get_workflow(its_id).get_step("ask").decided_by == "anna"
    with pytest.raises(IllegalStep) as refused:
        reject(its_id, "ask", by="bob")
    assert (refused.value.step, refused.value.status) == ("ask", "completed")
    hand.run("go")
    approve(its_id, "ask", by="anna")


def test_a_rejected_approval_is_a_failure(create: Create, statuses: Statuses) -> None:
    its_id = create(*ASK).workflow_id
    workflow = reject(its_id, "ask", by="bob", note="no")
    assert (workflow.status, workflow.reason) == ("failed", "step ask was rejected by bob")
    assert statuses(its_id) == {"ask": "rejected", "go": "pending"}
    with pytest.raises(StepsStillFailed):
        resume_workflow(its_id)


def test_decisions_that_are_not_possible(create: Create, hand: HandWorker) -> None:
    its_id = create(*ASK, {"key": "later", "kind": "approval", "after": ["go"]}).workflow_id
    with pytest.raises(IllegalStep):
        approve(its_id, "later", by="anna")
    with pytest.raises(IllegalStep):
        approve(its_id, "go", by="anna")
    with pytest.raises(StepNotFound):
        approve(its_id, "nothing", by="anna")
    with pytest.raises(WorkflowNotFound):
        approve(new_workflow_id(), "ask", by="anna")
    for by in ("", "  ", "x" * 201):
        with pytest.raises(InvalidPayload):
            approve(its_id, "ask", by=by)


def test_an_approval_expires(create: Create, clock: Clock, statuses: Statuses) -> None:
    soon = create({"key": "ask", "kind": "approval", "expires_seconds": 60.0}).workflow_id
    never = create({"key": "ask", "kind": "approval"}).workflow_id
    assert WorkflowSweep().take_turn() == []
    clock.advance(61)
    do_turn()
    workflow = get_workflow(soon)
    assert (workflow.status, workflow.reason) == ("failed", "step ask has expired")
    assert statuses(soon) == {"ask": "expired"}
    assert statuses(never) == {"ask": "waiting"}
    with pytest.raises(IllegalStep):
        approve(soon, "ask", by="anna")


def test_an_expired_approval_waits_again_in_a_resumed_workflow(
    create: Create, hand: HandWorker, clock: Clock, statuses: Statuses
) -> None:
    its_id = create({**ASK[0], "expires_seconds": 60.0}, ASK[1], escalation={"to": "ops"}).workflow_id
    clock.advance(61)
    do_turn()
    assert (get_workflow(its_id).status, statuses(its_id)["ask"]) == ("escalated", "expired")
    assert resume_workflow(its_id).status == "running"
    step = get_workflow(its_id).get_step("ask")
    assert (step.status, step.error, step.finished_at) == ("waiting", None, None)
    clock.advance(59)
    do_turn()
    approve(its_id, "ask", by="anna")
    hand.run("go")
    assert get_workflow(its_id).status == "completed"


def test_a_decision_that_comes_too_late_is_refused_before_the_sweep(create: Create, clock: Clock) -> None:
    its_id = create({"key": "ask", "kind": "approval", "expires_seconds": 60.0}).workflow_id
    clock.advance(61)
    with pytest.raises(IllegalStep) as refused:
        approve(its_id, "ask", by="anna")
    assert refused.value.status == "expired"
    assert get_workflow(its_id).status == "failed"


def test_an_approval_gets_its_whole_time_again_when_the_workflow_is_resumed(
    create: Create, hand: HandWorker, clock: Clock
) -> None:
    workflow = create({"key": "a"}, {"key": "ask", "kind": "approval", "expires_seconds": 60.0})
    its_id = workflow.workflow_id
    hand.take()
    hand.die("a")
    clock.advance(3600)
    do_turn()
    assert get_workflow(its_id).get_step("ask").status == "waiting", "nobody could go on with it"
    retry(workflow.get_step("a").task_id or "")
    resume_workflow(its_id)
    do_turn()
    assert get_workflow(its_id).get_step("ask").status == "waiting"
    approve(its_id, "ask", by="anna")
