"""Cancel and resume a workflow."""

from state.access.caller import SYSTEM, Caller
from state.access.permissions import may_run_all
from state.database import Parameters, Row, fetch, retrying
from state.database.errors import kind_of
from state.database.notifier import notify_control, notify_tasks
from state.errors import IllegalWorkflow, StepsStillFailed, WorkflowNotFound
from state.logs import log
from state.tasks.admission import require_may_run_payload
from state.tasks.announcements import announce
from state.workflows.hints import announce_workflow
from state.workflows.reads import StoredWorkflow, get_workflow


def cancel_workflow(workflow_id: str, *, caller: Caller = SYSTEM) -> StoredWorkflow:
    """Cancels a workflow that is not over, and everything of it that lives. Tasks that run are asked to stop; they may
    still run when this returns."""
    asked = {"id": workflow_id, "reason": "canceled on request", "scope": caller.tenant, "by": caller.name}
    rows, in_doubt = _run("workflow_cancel", asked)
    if not rows:
        raise WorkflowNotFound(workflow_id)
    status = rows[0]["workflow_status"]
    if status in ("completed", "canceled") and not (in_doubt and status == "canceled"):
        raise IllegalWorkflow(workflow_id, "cancel", status)
    log.info("workflow canceled", workflow_id=workflow_id, by=caller.name)
    tasks = [row for row in rows if row["id"] is not None]
    announce([row for row in tasks if row["status"] == "canceled"], left_gates=True, by=caller.name)
    if any(row["status"] == "running" for row in tasks):
        notify_control()
    notify_tasks([workflow_id, *(row["id"] for row in tasks)])
    return get_workflow(workflow_id, caller=caller)


def resume_workflow(workflow_id: str, *, caller: Caller = SYSTEM) -> StoredWorkflow:
    """Lets a failed or escalated workflow go on after a person has repaired what failed. Raises StepsStillFailed while
    as many steps are failed as its threshold says; Forbidden if the caller may not give the agents of all its open
    steps work."""
    require_may_go_on(workflow_id, caller)
    asked = {"id": workflow_id, "scope": caller.tenant, "by": caller.name}
    rows, in_doubt = _run("workflow_resume", asked)
    if not rows:
        raise WorkflowNotFound(workflow_id)
    [row] = rows
    if not row["resumed"] and not (in_doubt and row["status"] in ("running", "completed")):
        if row["status"] in ("failed", "escalated"):
            raise StepsStillFailed(workflow_id, row["status"], row["steps"])
        raise IllegalWorkflow(workflow_id, "resume", row["status"])
    log.info("workflow resumed", workflow_id=workflow_id, by=caller.name)
    announce_workflow(workflow_id)
    return get_workflow(workflow_id, caller=caller)


def require_may_go_on(workflow_id: str, caller: Caller) -> None:
    """Raises Forbidden if the caller may not give the agents of all its open steps work."""
    if may_run_all(caller):
        return
    for step in get_workflow(workflow_id, caller=caller).steps:
        if step.kind == "task" and step.status != "completed":
            named = {"agent_name": step.agent_name, "task_type": step.task_type}
            require_may_run_payload(caller, "agent", named)


def _run(statement: str, parameters: Parameters) -> tuple[list[Row], bool]:
    """Returns the rows, and whether an earlier try may have been committed although its answer was lost."""
    in_doubt = False

    @retrying
    def attempt() -> list[Row]:
        nonlocal in_doubt
        try:
            return fetch(statement, parameters)
        except Exception as failure:
            in_doubt = in_doubt or kind_of(failure) == "reconnect"
            raise

    return attempt(), in_doubt
