"""Plays the worker: moves a task step by step, when the test wants it."""

from itertools import count
from typing import Any

from state.database.connection import Connection
from state.database.notifier import notify_tasks
from state.workers.leases import Claimed, ClaimRequest, Report, Settlement, claim, report, settle


class Player:
    def __init__(self, connection: Connection, *, rings: bool = True) -> None:
        self._connection = connection
        self._rings = rings  # False: its hints get lost
        self._numbers = count(1)

    def start(self, queue: str = "stage") -> Claimed:
        request = ClaimRequest("player", next(self._numbers), [queue], [], 1, 0, 0, [], None, 0.3)
        [claimed] = claim(self._connection, request).tasks
        self._ring(claimed.id)
        return claimed

    def say(self, task: Claimed, *texts: str, kind: str = "token") -> None:
        events = [{"kind": kind, "data": {"text": text}} for text in texts]
        assert report(self._connection, "player", [Report(task.id, task.epoch, next(self._numbers), events=events)])
        self._ring(task.id)

    def complete(self, task: Claimed, result: Any = None) -> None:
        self._settle(Settlement(task.id, task.epoch, "completed", result=result))

    def fail(self, task: Claimed, error_type: str = "NotFound") -> None:
        error = {"type": error_type, "message": "no", "category": "permanent", "details": {}, "traceback": None}
        self._settle(Settlement(task.id, task.epoch, "failed", error=error))

    def revive(self, task_id: str) -> None:
        """As the verb will that is still to come: a dead task is queued again, with a line in its history."""
        self._connection.execute(
            "WITH revived AS (UPDATE callboard.tasks SET status = 'queued', lane = 'retry', finished_at = NULL, "
            "attempt = 0, last_event = last_event + 1 WHERE id = %s AND status = 'dead' RETURNING id, last_event) "
            "INSERT INTO callboard.events (task_id, n, kind, data, at) SELECT id, last_event, 'status', "
            """'{"from": "dead", "to": "queued"}', callboard.now() FROM revived""",
            [task_id],
        )
        self._ring(task_id)

    def _settle(self, settlement: Settlement) -> None:
        assert settle(self._connection, "player", [settlement])
        self._ring(settlement.id)

    def _ring(self, task_id: str) -> None:
        if self._rings:
            notify_tasks([task_id])
