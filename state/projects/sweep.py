"""The sweep of runs: a run that is live although its task is finished is ended."""

from state.database import fetch, retrying
from state.database.notifier import notify_tasks, notify_work
from state.logs import log

BATCH = 100


@retrying
def sweep_runs() -> list[str]:
    """Returns the runs that were ended. A loop goes on with its next item."""
    rows = fetch("sweep_runs", {"limit": BATCH})
    for row in rows:
        log.warning("run ended by the sweep", run_id=row["id"], project_id=row["project_id"])
    if rows:
        notify_tasks(row["project_id"] for row in rows)
        notify_work(["agents"])
    return [row["id"] for row in rows]
