"""What people ask of a task while it lives, and that it be out of sight when it has ended."""

from typing import Any, Literal

from state.database.connection import Row
from state.database.notifier import notify_control, notify_tasks, notify_work
from state.database.pool import fetch
from state.gates.waking import wake
from state.logs import log_transitions
from state.settings import get_settings
from state.tasks import deadletters
from state.tasks.reads import Task, get_task, refuse
from state.tasks.verbs import Sign, perform

Request = Literal["pause", "cancel", "force"]


def cancel(task_id: str, *, force: bool = False) -> Task:
    """Canceled at once when nobody runs it; otherwise its worker is asked to stop (the task is still running then).
    With `force`, code that does not stop loses its process."""
    request: Request = "force" if force else "cancel"
    signs: list[Sign] = [{"to": "canceled"}, {"stage": "requested", "request": request}]
    return _ask("cancel", task_id, signs, request=request)


def pause(task_id: str) -> Task:
    """Paused at once when nobody runs it; otherwise its worker is asked to stop. Keeps its checkpoint and lane."""
    too_dear: Sign = {"to": "dead", "error": {"type": "TokenLimitExceeded"}}
    signs: list[Sign] = [{"to": "paused"}, too_dear, {"stage": "requested", "request": "pause"}]
    return _ask("pause", task_id, signs, token_limit=get_settings().token_limit)


def resume(task_id: str) -> Task:
    """A paused task goes on from its checkpoint, in its lane; a dead one is revived."""
    rows = _run("resume", task_id, [{"from": "paused", "reason": "resumed"}])
    if not rows:
        if get_task(task_id).status != "dead":
            raise refuse(task_id, "resume")
        return deadletters.revive_dead(task_id, "resume")
    log_transitions(rows)
    notify_tasks([task_id])
    notify_work([rows[0]["queue"]])
    return get_task(task_id)


def delete(task_id: str) -> None:
    """Hides a finished task from everybody; its history is kept."""
    rows = _run("hide", task_id, [])
    if not rows:
        raise refuse(task_id, "delete")
    wake(rows[0]["gates"])


def _run(statement: str, task_id: str, signs: list[Sign], **parameters: Any) -> list[Row]:
    return perform([task_id], signs, lambda _: fetch(statement, {"id": task_id, **parameters}))


def _ask(verb: str, task_id: str, signs: list[Sign], **parameters: Any) -> Task:
    rows = _run(verb, task_id, signs, **parameters)
    if not rows:
        raise refuse(task_id, verb)
    if rows[0]["status"] == "running":
        notify_control()
    else:
        log_transitions(rows)
        wake(rows[0]["gates"])
    notify_tasks([task_id])
    return get_task(task_id)
