"""A worker without processes or threads: it moves a task one step at a time, when the test says so."""

from itertools import count
from typing import Any

from state.database import Connection
from state.database.notifier import notify_tasks
from state.workers.leases import Claimed, ClaimRequest, Report, Settlement, claim, report, settle

WORKER_ID = "fake worker"


class FakeWorker:
    def __init__(self, connection: Connection, *, notifies: bool = True) -> None:
        self._connection = connection
        self._notifies = notifies  # False: as if its notifications were lost
        self._numbers = count(1)

    def start(self, queue: str = "stage") -> Claimed:
        request = ClaimRequest(WORKER_ID, next(self._numbers), [queue], [], 1, 0, 0, [], None, 0.3)
        [claimed] = claim(self._connection, request).tasks
        self._notify(claimed.id)
        return claimed

    def emit(self, task: Claimed, *texts: str, kind: str = "token") -> None:
        events = [{"kind": kind, "data": {"text": text}} for text in texts]
        assert report(self._connection, WORKER_ID, [Report(task.id, task.epoch, next(self._numbers), events=events)])
        self._notify(task.id)

    def complete(self, task: Claimed, result: Any = None) -> None:
        self._settle(Settlement(task.id, task.epoch, "completed", result=result))

    def fail(self, task: Claimed, error_type: str = "NotFound") -> None:
        error: dict[str, Any] = {
            "type": error_type,
            "message": "no",
            "category": "permanent",
            "details": {},
            "traceback": None,
        }
        self._settle(Settlement(task.id, task.epoch, "failed", error=error))

    def _settle(self, settlement: Settlement) -> None:
        assert settle(self._connection, WORKER_ID, [settlement])
        self._notify(settlement.id)

    def _notify(self, task_id: str) -> None:
        if self._notifies:
            notify_tasks([task_id])
