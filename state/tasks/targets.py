"""Targets: what works on one thing, strictly one task at a time, in order of arrival."""

from state.database.pool import fetch, retrying
from state.errors import TaskNotFound
from state.tasks.control import cancel, resume
from state.tasks.deadletters import dismiss
from state.tasks.reads import DEFAULT_LIMIT, Task, get_task


@retrying
def list_target_tasks(
    target: str, *, tenant: str | None = None, after: str | None = None, limit: int = DEFAULT_LIMIT
) -> list[Task]:
    """A target's unfinished tasks, the oldest first: nothing starts before that one is through. `after` is the last
    id of the page before."""
    parameters = {"target": target, "tenant": tenant, "after": after, "limit": limit}
    return [Task.from_row(row) for row in fetch("target_tasks", parameters)]


def resume_job(target: str, task_id: str, *, tenant: str | None = None) -> Task:
    """The task that holds its target up, paused or dead, goes on; the others wait for it."""
    _of_target(target, task_id, tenant)
    return resume(task_id)


def clear_job(target: str, task_id: str, *, tenant: str | None = None) -> Task:
    """Takes a task out of its target's line: the next one may start."""
    task = _of_target(target, task_id, tenant)
    return dismiss(task_id) if task.status == "dead" else cancel(task_id)


def _of_target(target: str, task_id: str, tenant: str | None) -> Task:
    task = get_task(task_id)
    if (task.target, task.tenant) != (target, tenant):
        raise TaskNotFound(task_id)
    return task
