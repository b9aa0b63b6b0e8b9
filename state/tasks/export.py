"""Tasks with their whole history, in the order of their ids, for exports. Each page is a few short statements: nothing
is held open between two of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from state.access.caller import SYSTEM, Caller
from state.access.tracebacks import hide_traceback_in
from state.database import Row, fetch, retrying
from state.tasks.events import Event, get_events_of_many
from state.tasks.reads import ListedTask

TASKS = 25  # of a page: payloads and results are read alone if they are large
FIRST = 50  # attempts and events of a task that come with the page; the others are read alone
_WINDOW = 2000  # tasks that a statement looks at
_PAST_ALL = "tq`"  # sorts after every id of a task


@dataclass(frozen=True, slots=True)
class Exported:
    """A task with the first of its attempts and events. There may be more if there are FIRST. Large values of the task
    are omitted."""

    task: ListedTask
    attempts: list[Row]
    events: list[Event]


def read_page(
    after: str, until: str | None, *, tenant: str | None = None, caller: Caller = SYSTEM
) -> tuple[list[Exported], str | None]:
    """Returns the next tasks, and the position after which to ask again; None: there are no more."""
    tasks, reached = _read_tasks(after, until or _PAST_ALL, tenant=tenant, caller=caller)
    ids = [task.task_id for task in tasks]
    attempts = _read_attempts(ids, caller) if ids else {}
    events = get_events_of_many(dict.fromkeys(ids, 0), FIRST) if ids else {}
    shown = caller.has_role("operator")
    return [
        Exported(
            task,
            attempts.get(task.task_id, []),
            [event if shown else event.without_tracebacks() for event in events.get(task.task_id, [])],
        )
        for task in tasks
    ], reached


@retrying
def _read_tasks(after: str, until: str, *, tenant: str | None, caller: Caller) -> tuple[list[ListedTask], str | None]:
    rows = fetch(
        "tasks_in_order",
        {"after": after, "until": until, "tenant": tenant, "window": _WINDOW, "limit": TASKS, "scope": caller.tenant},
    )
    tasks = [ListedTask.from_row(row).as_seen_by(caller) for row in rows if row["id"] is not None]
    return tasks, rows[0]["reached"]


@retrying
def _read_attempts(ids: Sequence[str], caller: Caller) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in fetch("attempts_of_many", {"ids": list(ids), "afters": [0] * len(ids), "limit": FIRST}):
        shown = row if caller.has_role("operator") else hide_traceback_in(row)
        found.setdefault(row["id"], []).append(shown)
    return found
