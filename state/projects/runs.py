"""The verb of the worker that runs a project's run."""

from dataclasses import dataclass
from typing import Any

from state.database import fetch_one, retrying
from state.database.notifier import notify_tasks
from state.errors import LeaseLost


@dataclass(frozen=True, slots=True)
class RunItem:
    """The item that a run has taken."""

    project_id: str
    item_id: str
    title: str
    agent_name: str
    task_type: str
    input: dict[str, Any]


@retrying
def begin_run(worker: str, run_id: str, epoch: int) -> RunItem | None:
    """Gives the run its item: at its first start the one that is next now, later the same one. Returns None if there is
    nothing to do. Raises LeaseLost if the worker does not hold the lease. Calling it twice has the same effect."""
    row = fetch_one("run_begin", {"worker": worker, "id": run_id, "epoch": epoch})
    if row is None:
        raise LeaseLost(run_id, epoch)
    notify_tasks([row["project_id"]])
    return None if row["item_id"] is None else RunItem(**row)
