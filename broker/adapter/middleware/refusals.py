"""Ends tasks that a middleware did not let run: it has skipped the message, or failed with a MiddlewareError. Otherwise
nobody would run them, nor say why."""

from typing import Any

from dramatiq.middleware import Middleware

from broker.execution import outcomes
from broker.execution.failures import Refused
from broker.execution.held import get_held_tasks


class Refusals(Middleware):
    def after_skip_message(self, broker: Any, message: Any) -> None:
        self._refuse(broker, message, Refused("A middleware has skipped the task."))

    def after_process_message(self, broker: Any, message: Any, *, result: Any = None, exception: Any = None) -> None:
        if exception is not None:
            self._refuse(broker, message, exception)

    def _refuse(self, broker: Any, message: Any, reason: BaseException) -> None:
        if message.queue_name in broker.task_queues:
            held = get_held_tasks()
            task_id, epoch = message.args
            execution = held.start(task_id, epoch, time_limit=60)  # None if its code has run
            if execution is not None:
                held.end(execution, outcomes.failed(execution.claimed, reason))
