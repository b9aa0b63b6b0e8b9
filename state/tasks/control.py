"""Requests to a task while it lives: cancel, pause, resume; and delete, which hides a finished one."""

from typing import Any, Literal

from state.database import Row, fetch
from state.database.notifier import notify_control, notify_tasks
from state.gates.waking import wake
from state.settings import get_settings
from state.tasks import deadletters
from state.tasks.announcements import announce
from state.tasks.reads import Task, get_task, make_refusal
from state.tasks.verbs import Evidence, run_verb

Request = Literal["pause", "cancel", "force"]


def cancel(task_id: str, *, force: bool = False) -> Task:
    """Cancels a task at once if it is not running; otherwise asks its worker to stop, and the task returned is still
    running. With `force`, code that does not stop loses its process."""
    request: Request = "force" if force else "cancel"
    evidence: list[Evidence] = [{"to": "canceled"}, {"stage": "requested", "request": request}]
    return _stop("cancel", task_id, evidence, request=request)


def pause(task_id: str) -> Task:
    """Pauses a task at once if it is not running; otherwise asks its worker to stop. It keeps its checkpoint and lane.
    A task that is over its token limit ends dead."""
    over_limit: Evidence = {"to": "dead", "error": {"type": "TokenLimitExceeded"}}
    evidence: list[Evidence] = [{"to": "paused"}, over_limit, {"stage": "requested", "request": "pause"}]
    return _stop("pause", task_id, evidence, token_limit=get_settings().token_limit)


def resume(task_id: str) -> Task:
    """Queues a paused task, with its checkpoint and in its lane; revives a dead one."""
    rows = _run("resume", task_id, [{"from": "paused", "reason": "resumed"}])
    if not rows:
        if get_task(task_id).status != "dead":
            raise make_refusal(task_id, "resume")
        return deadletters.revive_dead(task_id, "resume")
    announce(rows, left_gates=False)
    return get_task(task_id)


def delete(task_id: str) -> None:
    """Hides a finished task; its history is kept."""
    rows = _run("hide", task_id, [])
    if not rows:
        raise make_refusal(task_id, "delete")
    wake(rows[0]["gates"])


def _run(statement: str, task_id: str, evidence: list[Evidence], **parameters: Any) -> list[Row]:
    return run_verb([task_id], evidence, lambda _: fetch(statement, {"id": task_id, **parameters}))


def _stop(verb: str, task_id: str, evidence: list[Evidence], **parameters: Any) -> Task:
    rows = _run(verb, task_id, evidence, **parameters)
    if not rows:
        raise make_refusal(task_id, verb)
    if rows[0]["status"] == "running":  # only asked to stop
        notify_control()
        notify_tasks([task_id])
    else:
        announce(rows, left_gates=True)
    return get_task(task_id)
