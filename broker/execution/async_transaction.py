"""`async with ctx.transaction() as conn:` the transaction of a coroutine. It holds a connection from its begin to its
end, and a thread only while a statement runs. Others wait for their turn, without a thread."""

import asyncio
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

from broker.execution.offload import Offload, run_in
from broker.execution.transaction import CompletingTransaction
from state.database import AnyConnection

_T = TypeVar("_T")


class AsyncConnection:
    def __init__(self, connection: AnyConnection, offload: Offload) -> None:
        self._connection = connection
        self._offload = offload
        self.turn = asyncio.Lock()  # of one statement at a time; the end of the block comes after those before it
        self.is_over = False

    async def execute(self, query: Any, parameters: Any = None) -> Any:
        """Executes a statement. Returns psycopg's cursor, which has all its rows: reading them does not wait."""
        return await self.run(lambda connection: connection.execute(query, parameters))

    async def run(self, function: Callable[[AnyConnection], _T]) -> _T:
        """Calls a function with the connection in a thread."""
        async with self.turn:
            if self.is_over:  # others may use the connection by now
                raise RuntimeError("the block of ctx.transaction() has ended")
            return await run_in(self._offload.verbs, partial(function, self._connection))


class AsyncTransaction:
    def __init__(self, inner: CompletingTransaction, offload: Offload) -> None:
        self._inner = inner
        self._offload = offload
        self._given: AsyncConnection

    async def __aenter__(self) -> AsyncConnection:
        try:
            if (turn := self._inner.ask_for_turn()) is not None:
                await asyncio.wrap_future(turn)
            connection = await run_in(self._offload.verbs, self._inner.__enter__)
        except BaseException:
            await run_in(self._offload.verbs, self._inner.abandon)
            raise
        self._given = AsyncConnection(connection, self._offload)
        return self._given

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        given = self._given
        try:
            async with given.turn:
                given.is_over = True
                await run_in(self._offload.verbs, partial(self._inner.__exit__, kind, error, trace))
        finally:
            given.is_over = True
