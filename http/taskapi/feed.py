"""The live lines of all watched tasks. One listener and one reader for a process serve every stream: neither
connections nor queries grow with the number of streams."""

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import anyio
import anyio.to_thread
import psycopg

from state.database.listener import Listener
from state.database.notifier import EVERYTHING, TASKS
from state.errors import NotReady
from state.logs import log
from state.tasks.events import get_events_of_many
from state.tasks.reads import get_tasks_of_many
from taskapi.lines import Line, done_line, line_of

PAGE = 200  # lines of one task in one query; a longer backlog is read by its own stream
_GAP = 0.01  # seconds between two queries: hints that arrive meanwhile are served together
_AFTER_ERROR = 1.0


@dataclass(frozen=True)
class Pace:
    """How long streams wait, in seconds, and how much they hold."""

    keep_alive: float = 15.0  # between two comments of a quiet stream
    patience: float = 30.0  # for a client to take what it is sent; after that it is dropped
    poll: float = 1.0  # at most, between two looks at all watched tasks
    capacity: int = 1000  # lines that wait for a client


class Subscription:
    """One stream's place at the feed: lines wait here until the client takes them."""

    def __init__(self, task_id: str, position: int, may_be_over: bool, capacity: int) -> None:
        self.task_id = task_id
        self.position = position  # the n of the last line put here
        self.may_be_over = may_be_over  # the last move that we know of led to a finished status
        self.full = False  # lines after the position must be fetched by the stream itself
        self._capacity = capacity
        self._waiting: deque[bytes] = deque()
        self._changed = asyncio.Event()
        self._closed = False

    def offer(self, lines: Sequence[Line], after: int) -> None:
        """Takes what is new of these lines, which follow `after`, as long as there is room."""
        if self.position < after:
            return  # joined while they were read; the next ones will follow its own position
        for line in lines:
            if line.n > self.position:
                if len(self._waiting) >= self._capacity:
                    self.full = True
                    return
                self._waiting.append(line.text)
                self.position = line.n
                self._changed.set()
                if line.finishes is not None:
                    self.may_be_over = line.finishes

    def close(self, last: bytes | None = None) -> None:
        """No more lines come; those that wait are still to be taken."""
        if last is not None:
            self._waiting.append(last)
        self._closed = True
        self._changed.set()

    async def take(self, patience: float) -> bytes | None:
        """The next line; b"" when none came in time; None when none will come any more."""
        if not self._waiting and not self._closed:
            self._changed.clear()
            with anyio.move_on_after(patience):
                await self._changed.wait()
        if self._waiting:
            return self._waiting.popleft()
        return None if self._closed else b""


class Feed:
    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self._subscriptions: dict[str, set[Subscription]] = {}
        self._due: set[str] = set()  # tasks that may have new lines
        self._wake = asyncio.Event()
        self._closed = False
        self._listener = Listener(TASKS, self._heard)
        self._limiter = anyio.CapacityLimiter(1)  # a thread of its own: slow requests must not delay the streams
        self._loop = asyncio.get_running_loop()
        self._reader = self._loop.create_task(self._read())
        self._listener.start()

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def connected(self) -> bool:
        return self._listener.connected.is_set()

    @contextmanager
    def subscribe(self, task_id: str, position: int, may_be_over: bool) -> Iterator[Subscription]:
        subscription = Subscription(task_id, position, may_be_over, self.pace.capacity)
        self._subscriptions.setdefault(task_id, set()).add(subscription)
        self._look_at([task_id])
        if self._closed:
            subscription.close()
        try:
            yield subscription
        finally:
            self._forget(subscription)

    def close(self) -> None:
        """Ends all streams, as the server is about to stop: their clients come back with the last id they have."""
        self._closed = True
        for subscription in self._all():
            subscription.close()

    async def stop(self) -> None:
        self.close()
        self._reader.cancel()
        await asyncio.wait([self._reader])
        await anyio.to_thread.run_sync(self._listener.stop)

    def _heard(self, hints: Sequence[str]) -> None:
        """In the listener's thread."""
        self._loop.call_soon_threadsafe(self._look_at, hints)

    def _look_at(self, hints: Sequence[str]) -> None:
        self._due.update(self._subscriptions if EVERYTHING in hints else self._subscriptions.keys() & hints)
        if self._due:
            self._wake.set()

    async def _read(self) -> None:
        look_at_all = 0.0
        while True:
            patience = max(look_at_all - self._loop.time(), 0) if self._subscriptions else None
            with anyio.move_on_after(patience):
                await self._wake.wait()
            if self._loop.time() >= look_at_all:  # hints can get lost; however many others come in, this look is due
                self._due.update(self._subscriptions)
                look_at_all = self._loop.time() + self.pace.poll
            self._wake.clear()
            try:
                await self._read_once()
            except Exception as failure:  # whatever it was, the streams go on
                expected = isinstance(failure, (psycopg.OperationalError, NotReady))
                log.warning("streams wait", error=str(failure).strip(), exc_info=not expected)
                await asyncio.sleep(_AFTER_ERROR)
                self._look_at([EVERYTHING])
            await asyncio.sleep(_GAP)

    async def _read_once(self) -> None:
        due, self._due = self._due & self._subscriptions.keys(), set()
        if not due:
            return
        positions = {task_id: min(each.position for each in self._subscriptions[task_id]) for task_id in due}
        found = await anyio.to_thread.run_sync(_new_lines, positions, limiter=self._limiter)
        for task_id, lines in found.items():
            for subscription in list(self._subscriptions.get(task_id, ())):
                subscription.offer(lines, positions[task_id])
                if subscription.full:  # its client is slow: the others do not wait for it
                    self._forget(subscription)
            if len(lines) == PAGE:
                self._look_at([task_id])
        await self._finish(
            [each for task_id in due for each in self._subscriptions.get(task_id, ()) if each.may_be_over]
        )

    async def _finish(self, candidates: list[Subscription]) -> None:
        """A dead task can have been revived since: only what is finished now, and told to its end, is done."""
        if not candidates:
            return
        ids = {each.task_id for each in candidates}
        tasks = await anyio.to_thread.run_sync(get_tasks_of_many, ids, limiter=self._limiter)
        endings = {task_id: done_line(task) for task_id, task in tasks.items() if task.finished}
        for subscription in candidates:
            task = tasks.get(subscription.task_id)
            if task is None:  # hidden meanwhile
                self._forget(subscription)
            elif not task.finished:
                subscription.may_be_over = False
            elif subscription.position >= task.last_event:
                subscription.close(endings[task.task_id])
                self._forget(subscription)
            else:
                self._look_at([task.task_id])

    def _forget(self, subscription: Subscription) -> None:
        subscription.close()
        watching = self._subscriptions.get(subscription.task_id, set())
        watching.discard(subscription)
        if not watching:
            self._subscriptions.pop(subscription.task_id, None)

    def _all(self) -> list[Subscription]:
        return [each for watching in self._subscriptions.values() for each in watching]


def _new_lines(positions: dict[str, int]) -> dict[str, list[Line]]:
    """Written down once, in the reader's thread, for however many streams."""
    found = get_events_of_many(positions, PAGE)
    return {task_id: [line_of(event) for event in events] for task_id, events in found.items()}
