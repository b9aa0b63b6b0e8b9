"""Opens the workplace when a worker boots, and closes it when it ends."""

import itertools
from typing import Any

from dramatiq import Worker
from dramatiq.middleware import Middleware

from broker import workplace
from broker.execution import Execution
from broker.messages import message_for
from broker.workplace import Workplace
from state.logs import configure_logs


class Workday(Middleware):
    def before_worker_boot(self, broker: Any, worker: Worker) -> None:
        configure_logs()
        allowed = worker.consumer_whitelist
        queues = sorted(queue for queue in broker.task_queues if not allowed or queue in allowed)

        order = itertools.count(1)  # numbers of their own: Dramatiq compares whole messages when two are equal

        def deliver(execution: Execution) -> None:
            worker.work_queue.put((next(order), message_for(execution)))

        workplace.set_current(Workplace(queues, worker.worker_threads, deliver))

    def after_worker_boot(self, broker: Any, worker: Worker) -> None:
        workplace.current().open()

    def before_worker_shutdown(self, broker: Any, worker: Worker) -> None:
        workplace.current().begin_shutdown()

    def after_worker_shutdown(self, broker: Any, worker: Worker) -> None:
        workplace.current().close()
        workplace.set_current(None)
