"""The broker: messages for task actors become rows of the state store; all other messages go to dramatiq-pg."""

import threading
from collections.abc import Iterable
from typing import Any

from dramatiq import Message, MessageProxy
from dramatiq.broker import Consumer
from dramatiq.common import q_name
from dramatiq.middleware import Middleware, MiddlewareError
from dramatiq_pg import PostgresBroker

from broker.adapter.middleware import make_middleware
from broker.adapter.middleware.foreign_hooks import is_foreign
from broker.adapter.middleware.refusals import Refusals
from broker.adapter.plain import LazyPool, PlainConsumer
from broker.execution.held import get_held_tasks
from broker.task import TaskActor
from state import submit
from state.agents.guard import require_may_create

_OPTIONS = (
    "queue", "priority", "max_attempts", "available_at", "max_age_seconds", "tenant", "webhook_url", "webhook_events"
)  # fmt: skip
_AROUND_TASKS = {"process_message", "ack", "nack"}  # signals that a worker emits for each message


class TaskBroker(PostgresBroker):
    def __init__(self) -> None:
        self.task_queues: set[str] = set()
        self._around_tasks: list[Middleware] = []
        super().__init__(pool=LazyPool(), results=True, middleware=make_middleware())

    def add_middleware(self, middleware: Middleware, **where: Any) -> None:
        super().add_middleware(middleware, **where)
        self._around_tasks = [each for each in self.middleware if is_foreign(each) or isinstance(each, Refusals)]

    def emit_before(self, signal: str, *args: Any, **kwargs: Any) -> None:
        """For a task, calls foreign middleware only. What ours and Dramatiq's own do for plain messages is done
        otherwise for tasks; to ask each of them about each task would take a fifth of a worker's time."""
        if signal not in _AROUND_TASKS or args[0].queue_name not in self.task_queues:
            super().emit_before(signal, *args, **kwargs)
            return
        for middleware in self._around_tasks:
            try:
                getattr(middleware, f"before_{signal}")(self, *args, **kwargs)
            except MiddlewareError:
                raise
            except Exception:  # as Dramatiq treats it
                self.logger.critical("before_%s of %r failed", signal, middleware, exc_info=True)

    def emit_after(self, signal: str, *args: Any, **kwargs: Any) -> None:
        if signal not in _AROUND_TASKS or args[0].queue_name not in self.task_queues:
            super().emit_after(signal, *args, **kwargs)
            return
        for middleware in reversed(self._around_tasks):
            try:
                getattr(middleware, f"after_{signal}")(self, *args, **kwargs)
            except Exception:
                self.logger.critical("after_%s of %r failed", signal, middleware, exc_info=True)

    def declare_actor(self, actor: Any) -> None:
        is_task = isinstance(actor, TaskActor)
        taken = self.queues.keys() - self.task_queues if is_task else self.task_queues
        if actor.queue_name in taken:
            raise ValueError(
                f"Queue {actor.queue_name!r} of actor {actor.actor_name!r} is in use for "
                f"{'plain Dramatiq actors' if is_task else 'tasks'}: tasks and plain actors need queues of their own."
            )
        if is_task:
            self.task_queues.add(actor.queue_name)
        super().declare_actor(actor)

    def declare_queue(self, queue_name: str) -> None:
        if queue_name not in self.task_queues:
            super().declare_queue(queue_name)
        elif queue_name not in self.queues:  # without a delay queue: a delayed task is a scheduled row
            self.emit_before("declare_queue", queue_name)
            self.queues[queue_name] = True
            self.emit_after("declare_queue", queue_name)

    def enqueue(self, message: Message[Any], *, delay: int | None = None) -> Message[Any]:
        require_may_create()
        if message.queue_name not in self.task_queues:
            sent: Message[Any] = super().enqueue(message, delay=delay)
            return sent
        self.emit_before("enqueue", message, delay)
        payload = message.args[0] if message.args else message.kwargs
        options = {name: message.options[name] for name in _OPTIONS if name in message.options}
        if delay:
            options["delay_seconds"] = delay / 1000
        task = submit(message.actor_name, payload, **options)
        sent = message.copy(message_id=task.task_id, args=(task.task_id,), kwargs={})
        self.emit_after("enqueue", sent, delay)
        return sent

    def consume(self, queue_name: str, prefetch: int = 1, timeout: int = 30000) -> Consumer:
        if q_name(queue_name) in self.task_queues:
            return TaskConsumer(timeout)
        return PlainConsumer(queue_name, prefetch, timeout)

    def close(self) -> None:
        self.pool.closeall()


class TaskConsumer(Consumer):
    """A consumer that only waits. Dramatiq needs one for each queue, but the dispatcher claims for all queues together
    and puts the tasks into the worker's own queue."""

    def __init__(self, timeout: int) -> None:
        self._timeout = timeout / 1000
        self._closed = threading.Event()

    def __next__(self) -> None:
        self._closed.wait(self._timeout)

    def ack(self, message: MessageProxy) -> None:
        """Does nothing: the reporter writes the end of the task."""

    nack = ack

    def requeue(self, messages: Iterable[MessageProxy]) -> None:
        held = get_held_tasks()
        for message in messages:
            execution = held.get(tuple(message.args))
            if execution is not None:
                held.give_back(execution)

    def close(self) -> None:
        self._closed.set()
