"""Steps that are added to a running workflow, and tasks that join one."""

from collections.abc import Callable

import pytest

from state import NewTask, get_task, retry, submit, submit_many
from state.agents.guard import run_refusing
from state.errors import (
    InvalidPayload,
    InvalidWorkflow,
    StepsStillFailed,
    TasksRefused,
    WorkflowNotFound,
    WorkflowNotRunning,
)
from state.tasks.ids import new_workflow_id
from state.workflows import (
    Step,
    StoredWorkflow,
    Workflow,
    create_task,
    create_workflow,
    get_workflow,
    resume_workflow,
)
from tests.workflows.handworker import HandWorker

Create = Callable[..., StoredWorkflow]


def test_create_task_adds_a_step_and_starts_it(create: Create, hand: HandWorker) -> None:
    its_id = create({"key": "a"}).workflow_id
    step = create_task(its_id, "free", "run", {"x": 1}, 0, 5)
    task = get_task(step.task_id or "")
    assert (task.status, task.priority, task.max_attempts, task.payload["input"]) == ("queued", 0, 5, {"x": 1})
    hand.run("a")
    assert get_workflow(its_id).status == "running"
    hand.complete(step.key)
    assert get_workflow(its_id).status == "completed"
    with pytest.raises(WorkflowNotRunning):
        create_task(its_id, "free", "run", {})
    with pytest.raises(WorkflowNotFound):
        create_task(new_workflow_id(), "free", "run", {})


def test_create_task_checks_its_input(create: Create) -> None:
    its_id = create({"key": "a"}).workflow_id
    with pytest.raises(InvalidWorkflow):
        create_task(its_id, "nobody", "run", {})
    with pytest.raises(InvalidWorkflow):
        create_task(its_id, "strict", "run", {"text": 1})
    with pytest.raises(InvalidWorkflow):
        create_task(its_id, "free", "run", {"x": {"$result": "a"}})
    assert len(get_workflow(its_id).steps) == 1


def test_an_agent_creates_neither_workflows_nor_tasks(create: Create) -> None:
    its_id = create({"key": "a"}).workflow_id
    definition = Workflow(name="x", steps=[Step(key="a", agent_name="free", task_type="run")])
    with pytest.raises(TasksRefused):
        run_refusing(create_workflow, definition)
    with pytest.raises(TasksRefused):
        run_refusing(create_task, its_id, "free", "run", {})


def test_a_task_joins_a_running_workflow(create: Create, hand: HandWorker) -> None:
    its_id = create({"key": "a"}).workflow_id
    payload = {"agent_name": "free", "task_type": "run", "input": {}}
    task = submit("agent", payload, workflow_id=its_id)
    assert task.workflow_id == its_id
    [other] = submit_many([NewTask("agent", payload, workflow_id=its_id)])
    assert get_task(other).workflow_id == its_id
    hand.run("a")
    assert get_workflow(its_id).status == "running", "it waits for what has joined"
    hand.complete(None, branch=other)
    assert get_workflow(its_id).status == "running"
    hand.complete(None, branch=task.task_id)
    assert get_workflow(its_id).status == "completed"
    with pytest.raises(WorkflowNotRunning):
        submit("agent", payload, workflow_id=its_id)
    with pytest.raises(WorkflowNotFound):
        submit("agent", payload, workflow_id=new_workflow_id())


def test_a_dead_task_without_a_step_is_a_failure(create: Create, hand: HandWorker) -> None:
    its_id = create({"key": "a"}).workflow_id
    task = submit("agent", {"agent_name": "free", "task_type": "run"}, workflow_id=its_id)
    hand.take()
    hand.die(None, branch=task.task_id)
    workflow = get_workflow(its_id)
    assert (workflow.status, workflow.reason) == ("failed", f"task {task.task_id} is dead: no luck")
    with pytest.raises(StepsStillFailed):
        resume_workflow(its_id)
    retry(task.task_id)
    resume_workflow(its_id)


def test_a_task_of_another_tenant_does_not_join(create: Create) -> None:
    its_id = create({"key": "a"}, tenant="acme").workflow_id
    with pytest.raises(InvalidPayload) as refused:
        submit("agent", {"agent_name": "free", "task_type": "run"}, workflow_id=its_id, tenant="other")
    assert refused.value.field == "tenant"
    submit("agent", {"agent_name": "free", "task_type": "run"}, workflow_id=its_id, tenant="acme")


def test_a_dedup_key_counts_for_tasks_that_join(create: Create) -> None:
    its_id = create({"key": "a"}).workflow_id
    first, second = (
        submit("agent", {"agent_name": "free", "task_type": "run"}, workflow_id=its_id, dedup_key="once")
        for _ in range(2)
    )
    assert (second.task_id, first.deduplicated, second.deduplicated) == (first.task_id, False, True)
