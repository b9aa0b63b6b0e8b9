"""Runs the tasks of async actors as coroutines on the worker's event loop. They occupy no threads. Whole batches are
handed over to the loop at once, and their ends are handed back in batches."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from contextvars import Context as Variables
from contextvars import ContextVar
from functools import partial
from typing import Any, Protocol
from weakref import WeakKeyDictionary, WeakSet

from broker.async_context import AsyncContext
from broker.context import Context
from broker.execution import runner
from broker.execution.execution import Execution
from broker.execution.held import HeldTasks
from broker.execution.interrupts import Interrupt, Stopped, caused_by
from broker.execution.offload import VERB, Offload, run_in
from broker.execution.runner import Work
from state.tasks import catalog
from state.tasks.catalog import ActorSpec
from state.tasks.traces import read_traceparent
from state.tracing import is_tracing, note_failure
from state.workers.leases import Settlement

_running: ContextVar[Execution | None] = ContextVar("callboard_execution", default=None)
_work: dict[str, Work] = {}  # by actor


def declare_work(actor: str, function: Work) -> None:
    """Called by `@task` for async actors."""
    _work[actor] = function


class Hooks(Protocol):
    """What runs around the code of each task."""

    async def run_around(self, execution: Execution, work: Callable[[], Awaitable[Any]]) -> Any: ...


class Coroutines:
    def __init__(self, loop: asyncio.AbstractEventLoop, offload: Offload) -> None:
        self.loop = loop
        self.offload = offload
        self.hooks: Hooks | None = None  # of foreign middleware
        self.held: HeldTasks  # set when it exists: it hands executions over to this object
        self._waiting: deque[Execution] = deque()  # handed over, not started yet
        self._called = False  # the loop will look at them
        self._ended: list[tuple[Execution, Settlement]] = []
        self._owners: WeakKeyDictionary[asyncio.Task[Any], Execution] = WeakKeyDictionary()
        loop.call_soon_threadsafe(self._prepare_loop)

    def start(self, executions: Sequence[Execution]) -> None:
        """Called by any thread."""
        if executions:
            self._waiting.extend(executions)
            if not self._called:
                self._called = True
                self.loop.call_soon_threadsafe(self._start_waiting)

    def find_current(self) -> Execution | None:
        """Returns the execution whose code runs on the loop at this moment. Called by any thread."""
        task = asyncio.current_task(self.loop)
        return None if task is None else self._owners.get(task)

    # Called on the loop.

    def _prepare_loop(self) -> None:
        self.loop.set_default_executor(self.offload.programs)
        self.loop.set_task_factory(self._make_task)

    def _make_task(self, loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> "asyncio.Task[Any]":
        """Notes which execution a task belongs to that its code starts."""
        task: asyncio.Task[Any] = asyncio.Task(coroutine, loop=loop, **options)
        if (execution := _running.get()) is not None:
            self._owners[task] = execution
            if execution.children is None:
                execution.children = WeakSet()
            execution.children.add(task)
        return task

    def _start_waiting(self) -> None:
        self._called = False
        while self._waiting:
            execution = self._waiting.popleft()
            spec = catalog.get(execution.claimed.actor)
            if self.held.start(*execution.key, spec.time_limit) is not None:
                run = _Run(self, spec, execution)
                task = asyncio.Task(run(), loop=self.loop, context=Variables())  # a context that nobody else has used
                self._owners[task] = execution
                task.add_done_callback(partial(self._note_end, run))

    def _note_end(self, run: "_Run", _: "asyncio.Task[None]") -> None:
        """Also called for a coroutine that was canceled before its first step."""
        self._ended.append((run.execution, run.settle()))
        if len(self._ended) == 1:
            self.loop.call_soon(self._hand_back)

    def _hand_back(self) -> None:
        ended, self._ended = self._ended, []
        self.held.end_all(ended)


class _Run:
    """One execution as a coroutine. Lets no exception escape into the loop, which all coroutines share."""

    def __init__(self, coroutines: Coroutines, spec: ActorSpec, execution: Execution) -> None:
        self.execution = execution
        self._coroutines = coroutines
        self._held = coroutines.held
        self._spec = spec
        self._context = Context(execution, coroutines.held, coroutines.offload.turns)
        self._begun = time.perf_counter()
        self._value: Any = None
        self._exception: BaseException | None = asyncio.CancelledError()  # if it never begins

    async def __call__(self) -> None:
        _running.set(self.execution)
        try:
            if is_tracing():
                await self._run_traced()
            else:
                await self._run()
        except BaseException as exception:
            self._exception = exception
        await self._end_children()
        self.execution.code.detach()
        while self._context.is_open:
            with suppress(asyncio.CancelledError):  # the code's own: it must not keep anything open
                await run_in(self._coroutines.offload.functions, self._context.close)

    async def _end_children(self) -> None:
        """Nothing that the code has started may go on after its end, beside the next execution. Verbs that nobody has
        awaited are completed."""
        while left := [each for each in self.execution.children or () if not each.done()]:
            for each in left:
                if each.get_name() != VERB:
                    each.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait(left)

    async def _run_traced(self) -> None:
        traceparent = await self._coroutines.offload.run_verb(read_traceparent, self.execution.claimed.id)
        with runner.trace_attempt(self.execution, traceparent) as span:
            try:
                await self._run()
            except BaseException as exception:
                note_failure(span, type(exception).__name__)
                raise

    async def _run(self) -> None:
        execution = self.execution
        current = asyncio.current_task()
        assert current is not None  # noqa: S101
        execution.code.attach(current)
        if execution.stop is not None:
            raise execution.stop
        try:
            request = self._spec.request.model_validate(execution.claimed.payload)
            for check in self._held.start_checks:
                if check.is_needed(execution, request):
                    await self._coroutines.offload.run_verb(check, execution, request)
            work = _work[self._spec.name]
            context = AsyncContext(self._context, self._coroutines.offload)
            if (hooks := self._coroutines.hooks) is not None:
                value = await hooks.run_around(execution, partial(work, context, request))
            else:
                value = await work(context, request)
        except asyncio.CancelledError as canceled:
            if execution.stop is None:
                raise
            raise execution.stop from canceled
        self._value, self._exception = value, None

    def settle(self) -> Settlement:
        exception = self._exception
        stop = self.execution.stop
        if exception is not None and stop is not None and not isinstance(exception, Interrupt):
            # The code may have raised another exception while it was stopped.
            is_bare = isinstance(exception, asyncio.CancelledError)
            if is_bare or (issubclass(stop, Stopped) and caused_by(exception, asyncio.CancelledError)):
                exception = stop()
        seconds = time.perf_counter() - self._begun
        return runner.settle(self._held, self.execution, self._context, seconds, self._value, exception)
