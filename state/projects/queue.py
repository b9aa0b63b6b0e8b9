"""The queue of a project: starting it, stopping it, and stopping it by force. At most one run of a project is live."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from state.access.caller import SYSTEM, Caller
from state.access.permissions import may_run_all, require_may_prioritize
from state.agents.guard import require_may_create
from state.database import Parameters, Row, fetch, fetch_one, retrying
from state.database.errors import TRANSIENT
from state.database.notifier import notify_tasks, notify_work
from state.errors import (
    IllegalItemStatus,
    IllegalTransition,
    InvalidPayload,
    ItemNotFound,
    ProjectNotFound,
    QueueAlreadyRunning,
    StateError,
)
from state.logs import log_transitions
from state.projects.changes import log_change
from state.projects.reads import Mode, Project, get_project
from state.tasks import catalog
from state.tasks.admission import require_may_run_payload
from state.tasks.announcements import announce
from state.tasks.control import cancel
from state.tasks.ids import new_task_id
from state.tasks.priorities import parse_priority
from state.tasks.reads import get_task

ACTOR = "project_run"
FORCE_SECONDS = 10.0  # that force_stop waits for the end of the run and of its sandboxes
POLL = 0.1  # seconds between two looks


@dataclass(frozen=True, slots=True)
class StillRunning:
    """A part of a run that force_stop could not end: its code (`sandbox_id` None), or a sandbox."""

    run_id: str
    sandbox_id: str | None
    pids: list[int]
    host: str | None


@dataclass(frozen=True, slots=True)
class ForcedStop:
    success: bool  # nothing is still running
    killed_runs: list[str] = field(default_factory=list)
    still_running: list[StillRunning] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one project in a batch. `error`: why nothing was done."""

    project_id: str
    run_id: str | None = None  # that was started
    error: Exception | None = None


def start_run(
    project_id: str,
    mode: Mode,
    *,
    item_id: str | None = None,
    priority: int | str | None = None,
    caller: Caller = SYSTEM,
) -> str:
    """Starts the queue: one item (single), or one after the other (loop). Which item the run takes is decided when it
    starts; `item_id` names one. Returns the id of the run, which is also that of its task. Raises QueueAlreadyRunning
    while a run is live; Forbidden if the caller could not have added all pending items, or the one that it names."""
    require_may_create()
    if mode not in ("single", "loop"):
        raise InvalidPayload("mode: must be single or loop", "mode")
    number = _parse_priority(priority)
    require_may_prioritize(caller, number)
    _require_may_run_items(project_id, item_id, caller)
    spec = catalog.get(ACTOR)
    run_id = new_task_id()
    row = _start({
        "project_id": project_id,
        "id": run_id,
        "mode": mode,
        "item_id": item_id,
        "priority": number,
        "queue": spec.queue,
        "max_attempts": spec.max_attempts,
        "scope": caller.tenant,
    })  # fmt: skip
    match row["outcome"]:
        case "no project":
            raise ProjectNotFound(project_id)
        case "running":
            raise QueueAlreadyRunning(project_id, row["run_id"])
        case "no item":
            raise ItemNotFound(project_id, item_id or "")
        case "item not pending":
            raise IllegalItemStatus(item_id or "", "run", row["item_status"])
    log_transitions(
        [{"id": run_id, "actor": ACTOR, "epoch": 0, "status": "queued"}], **{"from": None, "by": caller.name}
    )
    log_change(project_id, row["change"])
    notify_work([spec.queue])
    notify_tasks([project_id])
    return run_id


def stop(project_id: str, *, caller: Caller = SYSTEM) -> Project:
    """Asks the queue to stop: the current item is done to its end, the next one does not start. Does nothing if the
    queue does not run."""
    row = _mark(project_id, caller, force=False)
    if row["canceled"] is None:
        log_change(project_id, row["change"])
    else:
        announce([row["canceled"]], left_gates=True, by=caller.name)  # logs all changes that were written together
    notify_tasks([project_id])
    return get_project(project_id, caller=caller)


def force_stop(project_id: str, *, seconds: float = FORCE_SECONDS, caller: Caller = SYSTEM) -> ForcedStop:
    """Interrupts the run, whose item fails, and kills its sandboxes. Waits until nothing runs of it or of earlier runs,
    or for so many seconds, and returns what it has found then."""
    run_id = begin_force_stop(project_id, caller=caller)
    deadline = time.monotonic() + seconds
    while True:
        found = look_after_force_stop(project_id, run_id, caller=caller)
        if found.success or time.monotonic() >= deadline:
            return found
        time.sleep(POLL)


def begin_force_stop(project_id: str, *, caller: Caller = SYSTEM) -> str | None:
    """Asks for the end of the run, and does not wait for it. Returns the run; None if the queue does not run."""
    row = _mark(project_id, caller, force=True)
    run_id: str | None = row["run_id"]
    if run_id is not None:
        log_change(project_id, row["change"])
        notify_tasks([project_id])
        with suppress(IllegalTransition):  # it has ended in the meantime
            cancel(run_id, force=True, caller=caller)
    return run_id


def look_after_force_stop(project_id: str, run_id: str | None, *, caller: Caller = SYSTEM) -> ForcedStop:
    """Returns what still runs of the run that begin_force_stop has returned, and of earlier ones."""
    task = None if run_id is None else get_task(run_id, caller=caller)
    left = list_leftovers(project_id, run_id, caller=caller)
    if task is not None and not task.finished and not any(each.run_id == run_id for each in left):
        left.append(StillRunning(task.task_id, None, [], None))
    killed = [task.task_id] if task is not None and task.status == "canceled" else []
    return ForcedStop(not left, killed, left)


@retrying
def list_leftovers(project_id: str, run_id: str | None = None, *, caller: Caller = SYSTEM) -> list[StillRunning]:
    """Returns the sandboxes of this run and of the project's ended runs that have not ended."""
    rows = fetch("project_sandboxes", {"project_id": project_id, "run_id": run_id, "scope": caller.tenant})
    return [StillRunning(row["task_id"], row["id"], row["pids"], row["host"]) for row in rows]


def start_many(
    project_ids: Sequence[str], mode: Mode, *, priority: int | str | None = None, caller: Caller = SYSTEM
) -> list[Outcome]:
    """Starts several queues. Each is a transaction of its own: one that runs already stops none of the others."""
    require_may_prioritize(caller, _parse_priority(priority))
    return _run_each(project_ids, lambda project_id: start_run(project_id, mode, priority=priority, caller=caller))


def stop_many(project_ids: Sequence[str], *, caller: Caller = SYSTEM) -> list[Outcome]:
    def act(project_id: str) -> None:
        stop(project_id, caller=caller)

    return _run_each(project_ids, act)


def _run_each(project_ids: Sequence[str], act: Callable[[str], str | None]) -> list[Outcome]:
    outcomes = []
    for project_id in project_ids:
        try:
            outcomes.append(Outcome(project_id, act(project_id)))
        except (StateError, *TRANSIENT) as failure:
            outcomes.append(Outcome(project_id, error=failure))
    return outcomes


def _require_may_run_items(project_id: str, item_id: str | None, caller: Caller) -> None:
    if not may_run_all(caller):
        for named in _fetch("project_agents", {"project_id": project_id, "item_id": item_id, "scope": caller.tenant}):
            require_may_run_payload(caller, ACTOR, named)


def _parse_priority(priority: int | str | None) -> int | None:
    try:
        return None if priority is None else parse_priority(priority)
    except ValueError as wrong:
        raise InvalidPayload(f"priority: {wrong}", "priority") from None


_fetch = retrying(fetch)


@retrying
def _start(parameters: Row) -> Row:
    [row] = fetch("run_start", parameters)
    return row


@retrying
def _mark(project_id: str, caller: Caller, *, force: bool) -> Row:
    asked: Parameters = {"project_id": project_id, "force": force, "scope": caller.tenant, "by": caller.name}
    row = fetch_one("queue_stop", asked)
    if row is None:
        raise ProjectNotFound(project_id)
    return row
