"""Makes tasks with gates, and ends them as a worker does."""

from typing import Any

from state import NewTask, get_task, submit, submit_many
from state.database import Connection
from state.gates.waking import wake
from state.workers import leases
from state.workers.leases import Claimed, Settlement


def gated_task(priority: int = 2, **gates: int | None) -> str:
    return submit("gated", {"gates": gates}, priority=priority).task_id


def many(count: int, **gates: int | None) -> list[str]:
    return submit_many([NewTask("gated", {"gates": gates}) for _ in range(count)])


def finish(worker_connection: Connection, *tasks: Claimed, worker: str = "w1") -> None:
    """Settles and wakes, as a worker does."""
    rows = leases.settle(worker_connection, worker, [Settlement(task.id, task.epoch, "completed") for task in tasks])
    wake(gate for row in rows for gate in row["gates"])


def failed(
    worker_connection: Connection,
    task: Claimed,
    error_type: str = "ServiceUnavailable",
    retry: float = 5,
    worker: str = "w1",
) -> None:
    error: dict[str, Any] = {
        "type": error_type,
        "message": "",
        "category": "transient",
        "details": {},
        "traceback": None,
    }
    settlement = Settlement(task.id, task.epoch, "failed", error=error, retry_seconds=retry)
    wake(gate for row in leases.settle(worker_connection, worker, [settlement]) for gate in row["gates"])


def statuses(*ids: str) -> list[str]:
    return [get_task(each).status for each in ids]
