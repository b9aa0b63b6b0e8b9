"""Makes tasks in any status in one call, with the verbs that lead there."""

from functools import partial
from typing import Any

from state import Task, cancel, get_task, pause, submit
from state.database import Connection
from state.gates.operations import put_gate
from state.transitions import Status
from state.workers import leases
from state.workers.leases import Claimed, Settlement
from tests.support.claims import BOOM, Claimer
from tests.support.observer import Observer


class TaskBuilder:
    """Call it with a status. Other tasks are not touched: no claim takes them, no line gets longer."""

    def __init__(self, worker_connection: Connection, connection: Observer, **claim: Any) -> None:
        """`claim`: how a worker claims, if not as one of the simple actors; see Claimer."""
        self._worker_connection = worker_connection
        self._connection = connection
        self._claim = partial(Claimer(worker_connection), **claim)

    def __call__(
        self,
        status: Status = "queued",
        *,
        actor: str = "quick",
        payload: dict[str, Any] | None = None,
        worker: str = "w1",
        result: Any = None,
        error_type: str = "Boom",
        **options: Any,
    ) -> Task:
        """Makes a task and returns it. `options` are those of `submit`. `worker` has claimed a task that is running,
        completed or dead; `result` belongs to a completed task, `error_type` to a dead one."""
        if status == "scheduled":
            options.setdefault("delay_seconds", 3600.0)
        if status == "waiting":
            options.setdefault("tenant", "paused")
            put_gate(f"tenant:{options['tenant']}", paused=True)
        task_id = submit(actor, payload or {}, **options).task_id
        match status:
            case "waiting":
                assert self._claim_only(task_id, worker) == []
            case "running" | "completed" | "dead":
                [claimed] = self._claim_only(task_id, worker)
                self._settle(status, claimed, worker, result, error_type)
            case "paused":
                pause(task_id)
            case "canceled":
                cancel(task_id)
        task = get_task(task_id)
        assert task.status == status
        return task

    def _claim_only(self, task_id: str, worker: str) -> list[Claimed]:
        """Locks all other queued tasks for a moment: a claim looks at them, and skips them."""
        others = "SELECT FROM callboard.tasks WHERE status = 'queued' AND id <> %s FOR UPDATE"
        with self._connection.transaction():
            locked = self._connection.execute(others, [task_id]).rowcount
            return self._claim(free=locked + 1, worker=worker)

    def _settle(self, status: Status, claimed: Claimed, worker: str, result: Any, error_type: str) -> None:
        if status == "completed":
            end = Settlement(claimed.id, claimed.epoch, "completed", result=result)
        elif status == "dead":
            end = Settlement(claimed.id, claimed.epoch, "failed", error={**BOOM, "type": error_type})
        else:
            return
        leases.settle(self._worker_connection, worker, [end])
