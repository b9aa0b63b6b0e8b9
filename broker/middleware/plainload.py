"""Counts the threads that run plain Dramatiq messages: no task is claimed for a thread that is not free."""

import threading
from typing import Any

from dramatiq.middleware import Middleware

from broker import workplace


class PlainLoad(Middleware):
    def __init__(self) -> None:
        self._lock = threading.Lock()

    def _count(self, broker: Any, message: Any, change: int) -> None:
        if message.queue_name not in broker.task_queues:
            with self._lock:
                workplace.current().desk.plain_busy += change

    def before_process_message(self, broker: Any, message: Any) -> None:
        self._count(broker, message, 1)

    def after_process_message(self, broker: Any, message: Any, *, result: Any = None, exception: Any = None) -> None:
        self._count(broker, message, -1)

    def after_skip_message(self, broker: Any, message: Any) -> None:
        self._count(broker, message, -1)
