"""Targets: tasks that work on the same thing run strictly one at a time, in order of arrival."""

from state.database import fetch, retrying
from state.errors import TaskNotFound
from state.tasks.control import cancel, resume
from state.tasks.deadletters import dismiss
from state.tasks.reads import DEFAULT_LIMIT, Task, get_task


@retrying
def list_target_tasks(
    target: str, *, tenant: str | None = None, after: str | None = None, limit: int = DEFAULT_LIMIT
) -> list[Task]:
    """Returns a target's unfinished tasks, oldest first: the others wait until the first one is finished. `after`: the
    last id of the previous page."""
    parameters = {"target": target, "tenant": tenant, "after": after, "limit": limit}
    return [Task.from_row(row) for row in fetch("target_tasks", parameters)]


def resume_job(target: str, task_id: str, *, tenant: str | None = None) -> Task:
    """Resumes a paused or dead task of the target; the others still wait for it."""
    _get_job(target, task_id, tenant)
    return resume(task_id)


def clear_job(target: str, task_id: str, *, tenant: str | None = None) -> Task:
    """Dismisses or cancels a task of the target, so that the next one may start."""
    task = _get_job(target, task_id, tenant)
    return dismiss(task_id) if task.status == "dead" else cancel(task_id)


def _get_job(target: str, task_id: str, tenant: str | None) -> Task:
    task = get_task(task_id)
    if (task.target, task.tenant) != (target, tenant):
        raise TaskNotFound(task_id)
    return task
