"""Requests that are served together. While one batch is under way, those that arrive form the next one. There is no
timer: a lonely request is served at once."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context, copy_context
from typing import Generic, NamedTuple, TypeVar

from state.access.caller import Caller
from state.tasks.sharing import Asked

MOST = 100  # requests in one batch
_AT_ONCE = 2  # batches under way: a slow one must not hold up all others

_Wanted = TypeVar("_Wanted")
_Found = TypeVar("_Found")
_Answer = TypeVar("_Answer")


class _Waiting(NamedTuple, Generic[_Wanted, _Answer]):
    asked: Asked[_Wanted]
    answer: "asyncio.Future[_Answer]"


class Batcher(Generic[_Wanted, _Found, _Answer]):
    """`verb` serves all that ask: it returns for each, in order, what it has found or its error. `show` makes the
    answer of it. Both run in a thread."""

    def __init__(
        self,
        verb: Callable[[Sequence[Asked[_Wanted]]], Sequence[_Found | Exception]],
        show: Callable[[_Found], _Answer],
    ) -> None:
        self._verb = verb
        self._show = show
        self._waiting: deque[_Waiting[_Wanted, _Answer]] = deque()
        self._servers: set[asyncio.Task[None]] = set()
        self._under_way = 0
        self._threads = ThreadPoolExecutor(_AT_ONCE, "batch")  # of its own: slow requests must not delay these
        self._loop = asyncio.get_running_loop()

    async def ask(self, wanted: _Wanted, caller: Caller) -> _Answer:
        """Returns the answer. If the one that asks is canceled, what it has asked for is done all the same."""
        answer: asyncio.Future[_Answer] = self._loop.create_future()
        self._waiting.append(_Waiting(Asked(wanted, caller, copy_context()), answer))
        if self._under_way < _AT_ONCE:
            self._under_way += 1
            server = self._loop.create_task(self._serve_all(), context=Context())  # what it logs is not of this request
            self._servers.add(server)
            server.add_done_callback(self._servers.discard)
        return await answer

    async def stop(self) -> None:
        """Returns when all that was asked for has been done."""
        while self._servers:
            await asyncio.wait(self._servers)
        self._threads.shutdown(wait=False)

    async def _serve_all(self) -> None:
        """Serves batch after batch until nobody waits."""
        try:
            while self._waiting:
                await self._serve_batch([self._waiting.popleft() for _ in range(min(len(self._waiting), MOST))])
        finally:
            self._under_way -= 1  # in the same step in which nobody waits: whoever asks next starts another one

    async def _serve_batch(self, batch: "list[_Waiting[_Wanted, _Answer]]") -> None:
        answers: Sequence[_Answer | Exception]
        try:
            answers = await self._loop.run_in_executor(self._threads, self._answer, [each.asked for each in batch])
        except Exception as failure:
            answers = [failure] * len(batch)
        for each, answer in zip(batch, answers, strict=True):
            if each.answer.done():  # it has left
                continue
            if isinstance(answer, Exception):
                each.answer.set_exception(answer)
            else:
                each.answer.set_result(answer)

    def _answer(self, asked: Sequence[Asked[_Wanted]]) -> list[_Answer | Exception]:
        return [each if isinstance(each, Exception) else self._try_to_show(each) for each in self._verb(asked)]

    def _try_to_show(self, found: _Found) -> _Answer | Exception:
        try:
            return self._show(found)
        except Exception as failure:
            return failure
