"""Requests to a task while it lives: cancel, pause, resume; and delete, which hides a finished one."""

from collections.abc import Sequence
from typing import Any, Literal

from state.access.caller import SYSTEM, Caller
from state.database import Row, fetch
from state.database.notifier import notify_control, notify_tasks
from state.gates.waking import wake
from state.logs import log_request
from state.settings import get_settings
from state.tasks import deadletters
from state.tasks.admission import require_may_rerun
from state.tasks.announcements import announce
from state.tasks.reads import Task, get_task, make_refusal
from state.tasks.verbs import Evidence, run_verb

Request = Literal["pause", "cancel", "force"]

RESUMED: list[Evidence] = [{"from": "paused", "reason": "resumed"}]


def make_stop_evidence(request: Request) -> list[Evidence]:
    """What the history says when a task was paused or canceled, or its worker was asked to."""
    over_limit: Evidence = {"to": "dead", "error": {"type": "TokenLimitExceeded"}}
    ends: list[Evidence] = [{"to": "paused"}, over_limit] if request == "pause" else [{"to": "canceled"}]
    return [*ends, {"stage": "requested", "request": request}]


def cancel(task_id: str, *, force: bool = False, caller: Caller = SYSTEM) -> Task:
    """Cancels a task at once if it is not running; otherwise asks its worker to stop, and the task returned is still
    running. With `force`, code that does not stop loses its process."""
    request: Request = "force" if force else "cancel"
    return _stop("cancel", task_id, request, caller, request=request)


def pause(task_id: str, *, caller: Caller = SYSTEM) -> Task:
    """Pauses a task at once if it is not running; otherwise asks its worker to stop. It keeps its checkpoint and lane.
    A task that is over its token limit ends dead."""
    return _stop("pause", task_id, "pause", caller, token_limit=get_settings().token_limit)


def resume(task_id: str, *, caller: Caller = SYSTEM) -> Task:
    """Queues a paused task, with its checkpoint and in its lane; revives a dead one."""
    require_may_rerun(caller, task_id)
    rows = _run("resume", task_id, RESUMED, caller, by=caller.name)
    if not rows:
        if get_task(task_id, caller=caller).status != "dead":
            raise make_refusal(task_id, "resume", caller)
        return deadletters.revive_dead(task_id, "resume", caller)
    announce(rows, left_gates=False, by=caller.name)
    return get_task(task_id, caller=caller)


def delete(task_id: str, *, caller: Caller = SYSTEM) -> None:
    """Hides a finished task; its history is kept."""
    rows = _run("hide", task_id, [], caller)
    if not rows:
        raise make_refusal(task_id, "delete", caller)
    log_request("task deleted", task_id=task_id, by=caller.name)
    wake(rows[0]["gates"])


def _run(statement: str, task_id: str, evidence: list[Evidence], caller: Caller, **parameters: Any) -> list[Row]:
    given = {"id": task_id, "scope": caller.tenant, **parameters}
    return run_verb([task_id], evidence, lambda _: fetch(statement, given), caller=caller)


def _stop(verb: str, task_id: str, asked: Request, caller: Caller, **parameters: Any) -> Task:
    rows = _run(verb, task_id, make_stop_evidence(asked), caller, by=caller.name, **parameters)
    if not rows:
        raise make_refusal(task_id, verb, caller)
    announce_stops(rows, verb, caller)
    return get_task(task_id, caller=caller)


def announce_stops(rows: Sequence[Row], verb: str, caller: Caller) -> None:
    """Announces what a pause or a cancel has done. Tasks that run are only asked to stop."""
    asked = [row["id"] for row in rows if row["status"] == "running"]
    if asked:
        notify_control()
        notify_tasks(asked)
    for task_id in asked:
        log_request("stop requested", task_id=task_id, verb=verb, by=caller.name)
    announce([row for row in rows if row["status"] != "running"], left_gates=True, by=caller.name)
