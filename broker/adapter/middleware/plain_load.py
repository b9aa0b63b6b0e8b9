"""Counts the threads that run plain Dramatiq messages, so that no task is claimed for them."""

from typing import Any

from dramatiq.middleware import Middleware

from broker.execution.held import get_held_tasks


class PlainLoad(Middleware):
    def before_process_message(self, broker: Any, message: Any) -> None:
        if message.queue_name not in broker.task_queues:
            get_held_tasks().occupy_plain()

    def after_process_message(self, broker: Any, message: Any, *, result: Any = None, exception: Any = None) -> None:
        self._leave(broker, message)

    def after_skip_message(self, broker: Any, message: Any) -> None:
        self._leave(broker, message)

    def _leave(self, broker: Any, message: Any) -> None:
        if message.queue_name not in broker.task_queues:
            get_held_tasks().leave_plain()
