"""Cancel, resume and the list of workflows."""

from collections.abc import Callable

import pytest

from state import dismiss, get_task, retry, submit
from state.errors import (
    IllegalWorkflow,
    StepsStillFailed,
    WorkflowNotFound,
)
from state.tasks.ids import new_workflow_id
from state.workflows import (
    StoredWorkflow,
    cancel_workflow,
    get_workflow,
    list_workflows,
    resume_workflow,
)
from tests.support.observer import Observer
from tests.workflows.handworker import HandWorker

Create = Callable[..., StoredWorkflow]
Statuses = Callable[[str], dict[str, str]]

ASK = ({"key": "ask", "kind": "approval"}, {"key": "go", "after": ["ask"]})


def test_cancel_cancels_what_lives(create: Create, hand: HandWorker, statuses: Statuses) -> None:
    its_id = create({"key": "a"}, {"key": "b", "after": ["a"]}, *ASK, {"key": "d"}).workflow_id
    hand.take()
    hand.complete("d")
    joined = submit("agent", {"agent_name": "free", "task_type": "run"}, workflow_id=its_id, delay_seconds=60.0)
    workflow = cancel_workflow(its_id)
    assert (workflow.status, workflow.finished) == ("canceled", False)
    assert statuses(its_id) == {"a": "running", "b": "canceled", "ask": "canceled", "go": "canceled", "d": "completed"}
    assert get_task(joined.task_id).status == "canceled"
    assert get_task(workflow.get_step("a").task_id or "").cancel_requested == "cancel"
    hand.die("a")
    assert statuses(its_id)["a"] == "canceled"
    assert get_workflow(its_id).finished
    assert hand.take() == []


def test_cancel_of_a_thousand_branches(create: Create, statuses: Statuses, connection: Observer) -> None:
    its_id = create({"key": "each", "for_each": list(range(1000))}).workflow_id
    assert cancel_workflow(its_id).status == "canceled"
    assert statuses(its_id) == {"each": "canceled"}
    assert connection.fetch_one("SELECT count(*) AS n FROM callboard.tasks WHERE status = 'canceled'")["n"] == 1000


def test_cancel_of_what_is_over(create: Create, hand: HandWorker) -> None:
    its_id = create({"key": "a"}).workflow_id
    hand.run("a")
    with pytest.raises(IllegalWorkflow):
        cancel_workflow(its_id)
    with pytest.raises(WorkflowNotFound):
        cancel_workflow(new_workflow_id())


def test_a_failed_workflow_can_be_canceled(create: Create, hand: HandWorker) -> None:
    its_id = create({"key": "a"}, *ASK).workflow_id
    hand.take()
    hand.die("a")
    assert cancel_workflow(its_id).status == "canceled"


def test_resume_names_what_is_still_failed(create: Create, hand: HandWorker) -> None:
    workflow = create({"key": "a"}, {"key": "b"}, {"key": "c", "after": ["a", "b"]}, failure_threshold=2)
    its_id = workflow.workflow_id
    with pytest.raises(IllegalWorkflow):
        resume_workflow(its_id)
    hand.take()
    hand.die("a")
    hand.die("b")
    with pytest.raises(StepsStillFailed) as refused:
        resume_workflow(its_id)
    assert refused.value.steps == ["a", "b"]
    assert "a, b" in str(refused.value)
    retry(workflow.get_step("a").task_id or "")
    assert resume_workflow(its_id).status == "running"
    hand.run("a")
    ended = get_workflow(its_id)
    assert (ended.status, ended.reason) == ("completed", "step b is dead: no luck; could not run: c")
    with pytest.raises(IllegalWorkflow):
        resume_workflow(its_id)
    with pytest.raises(WorkflowNotFound):
        resume_workflow(new_workflow_id())


def test_a_dismissed_step_counts_no_more(create: Create, hand: HandWorker) -> None:
    workflow = create({"key": "a"}, {"key": "b"})
    hand.take()
    hand.die("a")
    dismiss(workflow.get_step("a").task_id or "")
    resume_workflow(workflow.workflow_id)
    hand.complete("b")
    assert get_workflow(workflow.workflow_id).reason == "canceled: a"


def test_the_list_has_filters_and_pages(create: Create, hand: HandWorker) -> None:
    ids = [create({"key": "a"}, {"key": "b", "after": ["a"]}, tenant=tenant).workflow_id for tenant in ("x", "y", "x")]
    assert [each.workflow_id for each in list_workflows()] == ids[::-1]
    assert [each.workflow_id for each in list_workflows(tenant="x")] == [ids[2], ids[0]]
    assert [each.workflow_id for each in list_workflows(limit=1, before=ids[2])] == [ids[1]]
    cancel_workflow(ids[1])
    assert [each.workflow_id for each in list_workflows(status="canceled")] == [ids[1]]
    assert list_workflows()[0].step_counts == {"running": 1, "pending": 1}
