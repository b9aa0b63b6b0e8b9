"""Verbs of workflows whose answer was lost with the connection."""

from collections.abc import Callable

import pytest

from state import retry, submit
from state.tasks.events import get_events
from state.workflows import (
    StoredWorkflow,
    approve,
    cancel_workflow,
    create_task,
    list_workflows,
    resume_workflow,
)
from tests.support.lostanswers import LostAnswers
from tests.support.observer import Observer
from tests.workflows.handworker import HandWorker

Create = Callable[..., StoredWorkflow]


VERBS: dict[str, tuple[str, Callable[[StoredWorkflow], object]]] = {
    "create": ("workflow_create", lambda _: None),
    "create_task": ("workflow_add_step", lambda w: create_task(w.workflow_id, "free", "run", {})),
    "cancel": ("workflow_cancel", lambda w: cancel_workflow(w.workflow_id)),
    "resume": ("workflow_resume", lambda w: resume_workflow(w.workflow_id)),
    "approve": ("workflow_decide", lambda w: approve(w.workflow_id, "ask", by="anna")),
}


@pytest.mark.parametrize("done", [True, False], ids=["after the commit", "before it"])
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_whose_answer_was_lost_has_happened_once(
    create: Create, hand: HandWorker, monkeypatch: pytest.MonkeyPatch, verb: str, done: bool
) -> None:
    statement, act = VERBS[verb]
    lost = LostAnswers(monkeypatch)
    if verb == "create":
        lost.of_statement(statement, done=done)
    workflow = create({"key": "a"}, {"key": "ask", "kind": "approval"})
    if verb == "resume":
        hand.take()
        hand.die("a")
        retry(workflow.get_step("a").task_id or "")
    before = get_events(workflow.workflow_id)
    if verb != "create":
        lost.of_statement(statement, done=done)
    act(workflow)
    assert lost.lost == 1
    written = [(event.kind, event.data["to"]) for event in get_events(workflow.workflow_id)[len(before) :]]
    assert (
        written
        == {
            "create": [],
            "create_task": [("step", "pending"), ("step", "running")],
            "cancel": [("status", "canceled"), ("step", "canceled"), ("step", "canceled")],
            "resume": [("status", "running")],
            "approve": [("step", "completed")],
        }[verb]
    )
    assert len(list_workflows()) == 1


def test_a_join_whose_answer_was_lost_has_happened_once(
    create: Create, connection: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    its_id = create({"key": "a"}).workflow_id
    LostAnswers(monkeypatch).of_commit()
    task = submit("agent", {"agent_name": "free", "task_type": "run"}, workflow_id=its_id)
    assert task.workflow_id == its_id
    assert not task.deduplicated
    assert connection.fetch_one("SELECT count(*) AS n FROM callboard.tasks WHERE step IS NULL")["n"] == 1
