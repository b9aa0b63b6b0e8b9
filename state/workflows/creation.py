"""Creating workflows, and adding steps to one that runs."""

import secrets
from typing import Any

from state import jsonsafe
from state.access.caller import SYSTEM, Caller
from state.access.permissions import choose_tenant
from state.agents.guard import require_may_create
from state.database import AnyConnection, fetch, fetch_one, retrying
from state.errors import InvalidWorkflow, WorkflowNotFound, WorkflowNotRunning
from state.logs import log
from state.tasks.ids import new_workflow_id
from state.workflows.definition import MOST_STEPS, Step, Workflow
from state.workflows.hints import announce_workflow
from state.workflows.reads import StoredStep, StoredWorkflow, get_workflow
from state.workflows.validation import build_step, build_steps


def create_workflow(
    workflow: Workflow, *, conn: AnyConnection | None = None, caller: Caller = SYSTEM
) -> StoredWorkflow:
    """Accepts a workflow and starts its first steps. Raises InvalidWorkflow, which names the step. With `conn`, in the
    caller's own transaction; the caller calls `announce_workflow` after the commit."""
    require_may_create()
    tenant = choose_tenant(caller, workflow.tenant)
    rows = build_steps(workflow, caller)
    its_id = new_workflow_id()
    head = workflow.model_dump(mode="json", exclude={"steps"})
    definition = {**head, "tenant": tenant, "id": its_id, "steps": rows}
    _insert(jsonsafe.dump(definition), conn=conn)
    log.info("workflow created", workflow_id=its_id, name=workflow.name, steps=len(rows))
    if conn is None:
        announce_workflow(its_id)
    return get_workflow(its_id, conn=conn, caller=caller)


def create_task(
    workflow_id: str,
    agent_name: str,
    task_type: str,
    payload: dict[str, Any],
    priority: int | str | None = None,
    max_attempts: int | None = None,
    *,
    caller: Caller = SYSTEM,
) -> StoredStep:
    """Adds a step with one task to a running workflow, and starts it. Raises WorkflowNotRunning, or InvalidWorkflow."""
    require_may_create()
    workflow = get_workflow(workflow_id, caller=caller)
    step = Step(
        key=f"added-{secrets.token_hex(8)}",
        agent_name=agent_name,
        task_type=task_type,
        input=payload,
        priority=priority,
        max_attempts=max_attempts,
    )
    if len(workflow.steps) >= MOST_STEPS:
        raise InvalidWorkflow(f"a workflow has at most {MOST_STEPS} steps", "steps", step.key)
    body = jsonsafe.dump(build_step(step, "task", set(), caller))
    _add_step(workflow_id, body, caller)
    log.info("task added to workflow", workflow_id=workflow_id, step=step.key)
    announce_workflow(workflow_id)
    return get_workflow(workflow_id, caller=caller).get_step(step.key)


@retrying
def _insert(definition: str, *, conn: AnyConnection | None) -> None:
    fetch("workflow_create", {"definition": definition}, conn)


@retrying
def _add_step(workflow_id: str, step: str, caller: Caller) -> None:
    row = fetch_one("workflow_add_step", {"id": workflow_id, "step": step, "scope": caller.tenant})
    if row is None:
        raise WorkflowNotFound(workflow_id)
    if not row["added"]:
        raise WorkflowNotRunning(workflow_id, row["status"])
