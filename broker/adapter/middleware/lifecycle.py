"""Opens the worker process when Dramatiq's worker boots, and closes it when Dramatiq's worker has ended."""

import itertools
from typing import Any

from dramatiq import Worker
from dramatiq.asyncio import get_event_loop_thread
from dramatiq.middleware import Middleware

from broker.adapter.messages import make_message
from broker.adapter.middleware.foreign_hooks import ForeignHooks
from broker.execution import agent_threads
from broker.execution.execution import Execution
from broker.worker import process
from broker.worker.process import WorkerProcess
from state.logs import configure_logs


class Lifecycle(Middleware):
    def before_worker_boot(self, broker: Any, worker: Worker) -> None:
        configure_logs()
        agent_threads.install()
        allowed = worker.consumer_whitelist
        queues = sorted(queue for queue in broker.task_queues if not allowed or queue in allowed)

        order = itertools.count(1)  # never equal: Dramatiq would compare the messages themselves

        def deliver(execution: Execution) -> None:
            worker.work_queue.put((next(order), make_message(execution)))

        thread = get_event_loop_thread()
        assert thread is not None  # noqa: S101  (the EventLoop middleware has set it)
        current = WorkerProcess(queues, worker.worker_threads, deliver, thread)
        current.coroutines.hooks = ForeignHooks(broker, current.coroutines.offload) or None
        process.set_current(current)

    def after_worker_boot(self, broker: Any, worker: Worker) -> None:
        process.get_current().open()

    def before_worker_shutdown(self, broker: Any, worker: Worker) -> None:
        process.get_current().begin_shutdown()

    def after_worker_shutdown(self, broker: Any, worker: Worker) -> None:
        process.get_current().close()
        process.set_current(None)
