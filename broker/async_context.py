"""The context of an async actor: the verbs of `Context`, awaitable where they wait. Meanwhile they run in a thread of
the process. In a thread that the actor has started (`asyncio.to_thread`), they are plain calls that block."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar, cast

from structlog.typing import FilteringBoundLogger

from broker.context import Context
from broker.execution.async_transaction import AsyncTransaction
from broker.execution.async_workspace import AsyncWorkspace
from broker.execution.execution import EVENT_GAP, Execution
from broker.execution.offload import VERB, Offload, run_in
from broker.execution.runner import run_interruptibly
from broker.execution.sandboxes import SandboxResult
from state.agents.events import Found
from state.finishing import finish
from state.gates import Gate

_T = TypeVar("_T")


class AsyncContext:
    def __init__(self, context: Context, offload: Offload) -> None:
        self.blocking = context  # the same context, for code in threads
        self.task_id = context.task_id
        self.epoch = context.epoch
        self.worker = context.worker
        self.attempt = context.attempt
        self.max_attempts = context.max_attempts
        self.tenant = context.tenant
        self._execution: Execution = context._execution
        self._offload = offload
        self._calling = False

    # Verbs that wait for nothing.

    @property
    def log(self) -> FilteringBoundLogger:
        return self.blocking.log

    @property
    def checkpoint(self) -> Mapping[str, Any]:
        return self.blocking.checkpoint

    @property
    def tokens(self) -> int:
        return self.blocking.tokens

    @property
    def canceled(self) -> bool:
        return self.blocking.canceled

    @property
    def request(self) -> str | None:
        return self.blocking.request

    @property
    def result(self) -> Any:
        return self.blocking.result

    @result.setter
    def result(self, value: Any) -> None:
        self.blocking.result = value

    def progress(self, percent: float | None = None, message: str = "") -> None:
        self.blocking.progress(percent, message)

    def receipt(self, stage: str, **data: Any) -> None:
        self.blocking.receipt(stage, **data)

    def use(self, tokens: int = 0, cost: float = 0) -> None:
        self.blocking.use(tokens, cost)

    # Verbs that wait.

    def emit(self, kind: str, data: dict[str, Any]) -> "Room":
        """The event is added at once. `await` waits while too many events are unwritten."""
        self.blocking.emit(kind, data, wait=not _is_on_loop())
        return Room(self._execution)

    def save(self, **values: Any) -> Awaitable[None]:
        return self._run(partial(self.blocking.save, **values))

    def require_gates(self, gates: Sequence[Gate]) -> Awaitable[None]:
        return self._run(partial(self.blocking.require_gates, gates))

    def recall(self, text: str, limit: int = 5) -> Awaitable[Found]:
        return self._run(partial(self.blocking.recall, text, limit))

    def sandbox(
        self, command: Sequence[str], *, timeout_seconds: float = 60, **limits: int
    ) -> Awaitable[SandboxResult]:
        stopping = threading.Event()
        sandboxes = self.blocking._get_sandboxes()
        run = partial(sandboxes.run, command, timeout_seconds, limits, stopping=stopping)
        if not _is_on_loop():
            return cast("Awaitable[SandboxResult]", run())
        return asyncio.ensure_future(run_in(self._offload.programs, run, stopping.set))

    def workspace(self) -> AsyncWorkspace:
        """`async with ctx.workspace() as workspace:`"""
        return AsyncWorkspace(self.blocking, self._offload)

    def transaction(self, result: Any = None) -> AsyncTransaction:
        """`async with ctx.transaction() as conn:` with `await conn.execute(query, parameters)` for statements, and
        `await conn.run(function)` for a function that takes the psycopg connection. As many tasks as there are
        connections are in such a block at once; the others wait for their turn."""
        return AsyncTransaction(self.blocking.transaction(result), self._offload)

    async def shielded(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Awaits a coroutine to its end, also if the task is interrupted meanwhile; then the interrupt is raised. For a
        few steps that must not be separated."""
        return await finish(work)

    def run_verb(self, verb: Callable[[], _T]) -> Awaitable[_T]:
        """Calls a verb of the database in a thread."""
        return self._run(verb)

    async def call(self, function: Callable[[Context], _T]) -> _T:
        """Calls sync code of the task, with the sync context, in a thread of its own. It is interrupted as the code of
        a sync actor is; so there can be one such call at a time."""
        if self._calling:
            raise RuntimeError("another ctx.call() of this task is under way: an interrupt reaches one thread")
        self._calling = True
        work = partial(run_interruptibly, self._execution, partial(function, self.blocking))
        try:
            value, exception = await run_in(self._offload.functions, work)
        finally:
            self._calling = False
        if exception is not None:
            raise exception
        if self._execution.stop is not None:  # it may have come when the function had just ended
            self._execution.interrupt_again()
        return cast("_T", value)

    def _run(self, verb: Callable[[], _T]) -> Awaitable[_T]:
        """Begins at once: a verb that nobody awaits is not lost."""
        if not _is_on_loop():
            return cast("Awaitable[_T]", verb())
        return asyncio.get_running_loop().create_task(self._offload.run_verb(verb), name=VERB)


class Room:
    """`await` waits until there is room for more events of an execution."""

    def __init__(self, execution: Execution) -> None:
        self._execution = execution

    def __await__(self) -> Generator[Any, None, None]:
        while not self._execution.has_room:
            yield from asyncio.sleep(EVENT_GAP).__await__()


def _is_on_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
