"""The rule that an agent's code does not create tasks follows it into the threads that it starts and the executors that
it uses. Coroutines, tasks and callbacks of an event loop carry it by themselves, with their context.

A thread of an executor does not belong to whoever was the first to use it: there the rule holds for single calls."""

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from typing import Any

from state.agents.guard import is_refusing, run_free, run_refusing

_installed = False


def install() -> None:
    """Called when a worker process boots, before it runs any code of agents. A second call does nothing."""
    global _installed
    if not _installed:
        _installed = True
        _wrap_thread_start()
        _wrap_executor_init()
        _wrap_executor_submit(ThreadPoolExecutor)
        _wrap_executor_submit(ProcessPoolExecutor)
        _wrap_done_callbacks()


def _wrap_thread_start() -> None:
    start = threading.Thread.start

    def start_inheriting(self: threading.Thread) -> None:
        if is_refusing():
            self.run = partial(run_refusing, self.run)  # type: ignore[method-assign]
        start(self)

    threading.Thread.start = start_inheriting  # type: ignore[method-assign]


def _wrap_executor_init() -> None:
    init = ThreadPoolExecutor.__init__

    def init_inheriting(
        self: ThreadPoolExecutor,
        max_workers: int | None = None,
        thread_name_prefix: str = "",
        initializer: Callable[..., object] | None = None,
        *more: Any,
        **named: Any,
    ) -> None:
        if initializer is not None and is_refusing():
            initializer = partial(run_refusing, initializer)
        init(self, max_workers, thread_name_prefix, initializer, *more, **named)

    ThreadPoolExecutor.__init__ = init_inheriting  # type: ignore[method-assign]


def _wrap_executor_submit(kind: type[Executor]) -> None:
    submit = kind.submit

    def submit_inheriting(self: Executor, fn: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        if not is_refusing():
            return submit(self, fn, *args, **named)
        # Free: a thread or process that the executor starts for this call will run others' calls too.
        future: Future[Any] = run_free(submit, self, partial(run_refusing, fn), *args, **named)
        return future

    kind.submit = submit_inheriting  # type: ignore[method-assign]


def _wrap_done_callbacks() -> None:
    add = Future.add_done_callback

    def add_inheriting(self: Future[Any], fn: Callable[[Future[Any]], object]) -> None:
        add(self, partial(run_refusing, fn) if is_refusing() else fn)

    Future.add_done_callback = add_inheriting  # type: ignore[method-assign]
