"""Targets: what works on one thing, strictly one task at a time, in order of arrival."""

from state.database import fetch, retrying
from state.tasks import DEFAULT_LIMIT, Task


@retrying
def list_target_tasks(
    target: str, *, tenant: str | None = None, after: str | None = None, limit: int = DEFAULT_LIMIT
) -> list[Task]:
    """A target's unfinished tasks, the oldest first: nothing starts before that one is through. `after` is the last
    id of the page before."""
    parameters = {"target": target, "tenant": tenant, "after": after, "limit": limit}
    return [Task.from_row(row) for row in fetch("target_tasks", parameters)]
