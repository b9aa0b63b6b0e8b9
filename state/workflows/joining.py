"""Tasks that are submitted into a running workflow."""

from collections.abc import Sequence

from state.access.caller import Caller
from state.database import AnyConnection, Parameters, Row, fetch
from state.errors import InvalidPayload, WorkflowNotFound, WorkflowNotRunning


def lock_joined(tasks: Sequence[Row], conn: AnyConnection, caller: Caller) -> None:
    """Locks the workflows that these new tasks join: none of them ends before the tasks are there. Raises
    WorkflowNotFound, WorkflowNotRunning, or InvalidPayload if a workflow belongs to another tenant. The statuses are
    read by a second statement: one that has waited for a lock sees what was before."""
    ids = sorted({task["workflow_id"] for task in tasks if task["workflow_id"] is not None})
    if not ids:
        return
    wanted: Parameters = {"ids": ids, "scope": caller.tenant}
    fetch("workflow_lock", wanted, conn)
    found = {row["id"]: row for row in fetch("workflow_statuses", wanted, conn)}
    for task in tasks:
        if task["workflow_id"] is not None:
            _require_fits(task, found.get(task["workflow_id"]))


def _require_fits(task: Row, workflow: Row | None) -> None:
    if workflow is None:
        raise WorkflowNotFound(task["workflow_id"])
    if workflow["status"] != "running":
        raise WorkflowNotRunning(workflow["id"], workflow["status"])
    if workflow["tenant"] != task["tenant"]:
        raise InvalidPayload("tenant: must be the tenant of the workflow", "tenant")
