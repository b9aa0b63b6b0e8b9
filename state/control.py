"""What people ask of a task while it lives, and that it be out of sight when it has ended."""

from typing import Literal

from state import deadletters
from state.bell import ring_control, ring_tasks, ring_work
from state.connection import Row
from state.database import fetch_one, retrying
from state.gates import wake
from state.logs import log_transitions
from state.settings import get_settings
from state.tasks import Task, get_task, refuse

Request = Literal["pause", "cancel", "force"]


@retrying
def cancel(task_id: str, *, force: bool = False) -> Task:
    """Canceled at once when nobody runs it; otherwise its worker is asked to stop (the task is still running then).
    With `force`, code that does not stop loses its process."""
    request: Request = "force" if force else "cancel"
    return _asked(task_id, "cancel", fetch_one("cancel", {"id": task_id, "request": request}))


@retrying
def pause(task_id: str) -> Task:
    """Paused at once when nobody runs it; otherwise its worker is asked to stop. Keeps its checkpoint and lane."""
    limit = get_settings().token_limit
    return _asked(task_id, "pause", fetch_one("pause", {"id": task_id, "token_limit": limit}))


@retrying
def resume(task_id: str) -> Task:
    """A paused task goes on from its checkpoint, in its lane; a dead one is revived."""
    row = fetch_one("resume", {"id": task_id})
    if row is None:
        if get_task(task_id).status != "dead":
            raise refuse(task_id, "resume")
        return deadletters.revive_dead(task_id, "resume")
    log_transitions([row])
    ring_tasks([task_id])
    ring_work([row["queue"]])
    return get_task(task_id)


@retrying
def delete(task_id: str) -> None:
    """Hides a finished task from everybody; its history is kept."""
    row = fetch_one("hide", {"id": task_id})
    if row is None:
        raise refuse(task_id, "delete")
    wake(row["gates"])


def _asked(task_id: str, verb: str, row: Row | None) -> Task:
    if row is None:
        raise refuse(task_id, verb)
    if row["status"] == "running":
        ring_control()
    else:
        log_transitions([row])
        wake(row["gates"])
    ring_tasks([task_id])
    return get_task(task_id)
