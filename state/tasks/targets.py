"""Targets: tasks that work on the same thing run strictly one at a time, in order of arrival."""

from dataclasses import dataclass
from datetime import datetime

from state.access.caller import SYSTEM, Caller
from state.database import fetch, retrying
from state.errors import TaskNotFound
from state.tasks.control import cancel, resume
from state.tasks.deadletters import dismiss
from state.tasks.reads import DEFAULT_LIMIT, ListedTask, Task, get_task
from state.transitions import Status

_LAST_NAME = "\U0010ffff"  # sorts after the name of every tenant


@dataclass(frozen=True, slots=True)
class Target:
    """A target with unfinished tasks. All of them wait for one: the one that runs, or else the first that arrived."""

    target: str
    tenant: str | None
    task_id: str
    status: Status  # of that task
    since: datetime  # it has been in this status
    waiting: int  # how many others wait for it
    blocked: bool  # it is paused or dead: nothing starts before a person resumes or clears it


@retrying
def list_targets(
    *,
    q: str = "",
    blocked: bool | None = None,
    tenant: str | None = None,
    after: tuple[str | None, str] | None = None,
    limit: int = DEFAULT_LIMIT,
    caller: Caller = SYSTEM,
) -> list[Target]:
    """Sorted by tenant and target; those without a tenant come first. `q`: a part of the target's name. `after`: tenant
    and target of the last one of the previous page."""
    if caller.tenant is not None and tenant not in (None, caller.tenant):
        return []
    owner = caller.tenant or tenant
    after_owner, after_target = (owner, "") if after is None else after
    if owner is not None and (after_owner or "") < owner:
        after_owner, after_target = owner, ""
    parameters = {
        "after_owner": after_owner or "",
        "after_target": after_target,
        "last_owner": owner or _LAST_NAME,
        "q": q,
        "blocked": blocked,
        "limit": limit,
        "scope": caller.tenant,
    }
    return [Target(**row) for row in fetch("targets", parameters)]


@retrying
def list_target_tasks(
    target: str,
    *,
    tenant: str | None = None,
    after: str | None = None,
    limit: int = DEFAULT_LIMIT,
    caller: Caller = SYSTEM,
) -> list[ListedTask]:
    """Returns a target's unfinished tasks, oldest first: the others wait until the first one is finished. `after`: the
    last id of the previous page. Without `tenant`, the target is one of the caller's tenant."""
    parameters = {
        "target": target,
        "tenant": tenant or caller.tenant,
        "after": after,
        "limit": limit,
        "scope": caller.tenant,
    }
    return [ListedTask.from_row(row).as_seen_by(caller) for row in fetch("target_tasks", parameters)]


def resume_job(target: str, task_id: str, *, tenant: str | None = None, caller: Caller = SYSTEM) -> Task:
    """Resumes a paused or dead task of the target; the others still wait for it."""
    _get_job(target, task_id, tenant, caller)
    return resume(task_id, caller=caller)


def clear_job(target: str, task_id: str, *, tenant: str | None = None, caller: Caller = SYSTEM) -> Task:
    """Dismisses or cancels a task of the target, so that the next one may start."""
    task = _get_job(target, task_id, tenant, caller)
    return dismiss(task_id, caller=caller) if task.status == "dead" else cancel(task_id, caller=caller)


def _get_job(target: str, task_id: str, tenant: str | None, caller: Caller) -> Task:
    task = get_task(task_id, caller=caller)
    if (task.target, task.tenant) != (target, tenant or caller.tenant):
        raise TaskNotFound(task_id)
    return task
