"""Threads for what blocks in the code of coroutines: their event loop must not wait. The number of threads and of
database connections that they use is bounded, however many coroutines there are."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextvars import copy_context
from functools import cached_property, partial
from typing import ParamSpec, TypeVar

from broker.execution.turns import Turns
from state.finishing import finish

_P = ParamSpec("_P")
_T = TypeVar("_T")

VERB = "callboard verb"  # the name of asyncio tasks that end with the verb, also if nobody awaits it
VERBS = 8  # calls of the database at once; each uses one connection, for a moment
TRANSACTIONS = 8  # ctx.transaction() at once; each holds one connection


class Offload:
    """The threads of one process, or of one run of an actor in a test. They are started when they are needed."""

    def __init__(self, coroutines: int) -> None:
        self._coroutines = coroutines
        self.turns = Turns(TRANSACTIONS)

    @cached_property
    def verbs(self) -> Executor:
        """For verbs of the database, which end soon."""
        return ThreadPoolExecutor(VERBS + TRANSACTIONS, "verb")

    @cached_property
    def programs(self) -> Executor:
        """For the programs of sandboxes, and for everything that the code calls with asyncio.to_thread."""
        return ThreadPoolExecutor(max(self._coroutines, 8), "program")

    @cached_property
    def functions(self) -> Executor:
        """For sync code of coroutines, such as agents: one thread for each, so that none waits for another's."""
        return ThreadPoolExecutor(max(self._coroutines, 1), "function")

    @cached_property
    def hooks(self) -> Executor:
        """For hooks of middleware, which may block as long as they like."""
        return ThreadPoolExecutor(VERBS, "hook")

    @cached_property
    def _at_once(self) -> asyncio.Semaphore:
        return asyncio.Semaphore(VERBS)

    async def run_verb(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Calls a verb that takes a connection of the pool."""
        async with self._at_once:
            return await run_in(self.verbs, partial(function, *args, **kwargs))

    def close(self) -> None:
        for name in ("verbs", "programs", "functions", "hooks"):
            if name in self.__dict__:
                getattr(self, name).shutdown(wait=False, cancel_futures=True)


async def run_in(executor: Executor, function: Callable[[], _T], on_cancel: Callable[[], None] | None = None) -> _T:
    """Calls a function in a thread, in a copy of the caller's context. If the caller is canceled meanwhile, calls
    `on_cancel`, and waits until the function has ended all the same: nothing of a task may go on after its end."""
    submitted = executor.submit(partial(copy_context().run, function))

    def leave() -> None:
        submitted.cancel()  # works if no thread has begun with it
        if on_cancel is not None:
            on_cancel()

    return await finish(asyncio.wrap_future(submitted), leave)
