"""One step of a workflow: what it has taken and returned, and its tasks."""

from state.access.caller import SYSTEM, Caller
from state.database import fetch, fetch_one, retrying
from state.errors import WorkflowNotFound
from state.tasks.reads import DEFAULT_LIMIT, ListedTask
from state.workflows.reads import StoredStep, StoredWorkflow


@retrying
def get_step(workflow_id: str, key: str, *, caller: Caller = SYSTEM) -> StoredStep:
    """Returns one step with its input and result, without reading those of the others."""
    row = fetch_one("workflows_of_many", {"ids": [workflow_id], "brief": False, "step": key, "scope": caller.tenant})
    if row is None:
        raise WorkflowNotFound(workflow_id)
    return StoredWorkflow.from_row(row).get_step(key)


@retrying
def list_step_tasks(
    workflow_id: str,
    key: str,
    *,
    status: str | None = None,
    after: str | None = None,
    limit: int = DEFAULT_LIMIT,
    caller: Caller = SYSTEM,
) -> list[ListedTask]:
    """Lists the tasks of a step, in the order of its list. `after`: the last id of the previous page."""
    wanted = {"id": workflow_id, "step": key, "status": status, "after": after, "limit": limit}
    rows = fetch("workflow_step_tasks", {**wanted, "scope": caller.tenant})
    if not rows:
        get_step(workflow_id, key, caller=caller)
    return [ListedTask.from_row(row).as_seen_by(caller) for row in rows]
