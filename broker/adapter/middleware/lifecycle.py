"""Opens the worker process when Dramatiq's worker boots, and closes it when that ends."""

import itertools
from typing import Any

from dramatiq import Worker
from dramatiq.middleware import Middleware

from broker.adapter.messages import message_for
from broker.execution.execution import Execution
from broker.worker import process
from broker.worker.process import WorkerProcess
from state.logs import configure_logs


class Lifecycle(Middleware):
    def before_worker_boot(self, broker: Any, worker: Worker) -> None:
        configure_logs()
        allowed = worker.consumer_whitelist
        queues = sorted(queue for queue in broker.task_queues if not allowed or queue in allowed)

        order = itertools.count(1)  # numbers of their own: Dramatiq compares whole messages when two are equal

        def deliver(execution: Execution) -> None:
            worker.work_queue.put((next(order), message_for(execution)))

        process.set_current(WorkerProcess(queues, worker.worker_threads, deliver))

    def after_worker_boot(self, broker: Any, worker: Worker) -> None:
        process.current().open()

    def before_worker_shutdown(self, broker: Any, worker: Worker) -> None:
        process.current().begin_shutdown()

    def after_worker_shutdown(self, broker: Any, worker: Worker) -> None:
        process.current().close()
        process.set_current(None)
