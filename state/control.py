"""What people ask of a task while it lives."""

from typing import Literal

from state.bell import ring_control, ring_tasks
from state.database import fetch_one, retrying
from state.gates import wake
from state.logs import log_transitions
from state.tasks import Task, get_task, refuse

Request = Literal["cancel", "force"]


@retrying
def cancel(task_id: str, *, force: bool = False) -> Task:
    """Canceled at once when nobody runs it; otherwise its worker is asked to stop (the task is still running then)."""
    request: Request = "force" if force else "cancel"
    row = fetch_one("cancel", {"id": task_id, "request": request})
    if row is None:
        raise refuse(task_id, "cancel")
    if row["status"] == "running":
        ring_control()
    else:
        log_transitions([row])
        wake(row["gates"])
    ring_tasks([task_id])
    return get_task(task_id)
