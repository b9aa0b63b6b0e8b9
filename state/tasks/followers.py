"""Announces what has followed from the ends of tasks: the trigger follow_task starts the next steps of a workflow, and
the next run of a project, in the transaction that ends a task. It sends no hints: a NOTIFY takes a global lock."""

from collections.abc import Sequence

from state.database import AnyConnection, Row, fetch
from state.database.errors import TRANSIENT
from state.database.notifier import notify_tasks, notify_work
from state.errors import NotReady
from state.logs import log, log_transitions
from state.projects.changes import log_followed_changes
from state.transitions import FINISHED

_FOLLOWED = frozenset({"agent", "project_run"})  # a task of another actor in a workflow is followed at the next pulse


def announce_followers(rows: Sequence[Row], conn: AnyConnection | None = None) -> None:
    """Writes the log and sends the hints, given the rows of the moves. After the commit. Raises nothing if the database
    does not answer: without a hint the tasks start a little later."""
    moved = [row for row in rows if row["actor"] in _FOLLOWED and (row["status"] in FINISHED or _is_revived(row))]
    if not moved:
        return
    runs = [row["id"] for row in moved if row["actor"] == "project_run"]
    try:
        found = fetch("followers", {"ids": [row["id"] for row in moved]}, conn)
        if runs:
            log_followed_changes(runs, conn)
    except (NotReady, *TRANSIENT) as failure:
        log.warning("started tasks are not announced", error=str(failure).strip())
        return
    started = list({row["id"]: row for row in found if row["id"] is not None}.values())
    log_transitions([row for row in started if row["epoch"] == 0], **{"from": None})
    notify_work({row["queue"] for row in started})
    notify_tasks({row["parent"] for row in found})


def _is_revived(row: Row) -> bool:
    return row.get("before") == "dead"
