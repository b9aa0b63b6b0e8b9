"""The feed: the new events of everything that is watched. One listener and one reader of a process serve all streams:
neither connections nor queries grow with the number of streams."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

import anyio
import anyio.to_thread

from state.database.errors import DatabaseUnavailable
from state.database.listener import Listener
from state.database.notifier import EVERYTHING, TASKS
from state.database.rhythm import Rhythm
from state.errors import NotReady
from state.logs import log
from state.tasks.events import get_events_of_many
from taskapi.streams.batch import Batch, split
from taskapi.streams.sse import Piece, encode_done, encode_event
from taskapi.streams.subject import Followed, Subject
from taskapi.streams.subscription import Subscription

PAGE = 200  # events of one subject in one query; a stream that is further behind reads its backlog itself
_GAP = 0.01  # seconds between two queries, on average; one query serves all hints that arrive in between
_AFTER_ERROR = 1.0
_TURN = 500  # streams that are written to before others have their turn


@dataclass(frozen=True)
class Pace:
    """How long streams wait, in seconds, and how much they hold."""

    keep_alive: float = 15.0  # between two comments of a quiet stream
    patience: float = 30.0  # for a client to read; after that the client is dropped
    poll: float = 1.0  # at most, between two reads of everything that is watched
    capacity: int = 1024 * 1024  # bytes that wait for a client, beside those that its connection holds


class Feed:
    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self._subscriptions: dict[str, set[Subscription]] = {}
        self._due: set[str] = set()  # ids that may have new events
        self._wake = asyncio.Event()
        self._closed = False
        self._listener = Listener(TASKS, self._receive_hints)
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
    def subscribe(self, subscription: Subscription) -> Iterator[None]:
        """The caller must have read the subject: the feed does not ask again whether it may see it."""
        self._subscriptions.setdefault(subscription.id, set()).add(subscription)
        self._schedule([subscription.id])
        if self._closed:
            subscription.end()
        try:
            yield
        finally:
            self._remove(subscription)

    def list_subscriptions(self) -> list[Subscription]:
        return [each for watching in self._subscriptions.values() for each in watching]

    def close(self) -> None:
        """Ends all streams because the server is about to stop. Their clients reconnect with their last event id."""
        self._closed = True
        for subscription in self.list_subscriptions():
            subscription.end()

    async def stop(self) -> None:
        self.close()
        self._reader.cancel()
        await asyncio.wait([self._reader])
        await anyio.to_thread.run_sync(self._listener.stop)

    def _receive_hints(self, hints: Sequence[str]) -> None:
        """Runs in the thread of the listener."""
        self._loop.call_soon_threadsafe(self._schedule, hints)

    def _schedule(self, hints: Sequence[str]) -> None:
        self._due.update(self._subscriptions if EVERYTHING in hints else self._subscriptions.keys() & hints)
        if self._due:
            self._wake.set()

    async def _read(self) -> None:
        next_poll = 0.0
        rhythm = Rhythm(_GAP)
        while True:
            patience = max(next_poll - self._loop.time(), 0) if self._subscriptions else None
            with anyio.move_on_after(patience):
                await self._wake.wait()
            if self._loop.time() >= next_poll:  # hints can get lost; the poll is due no matter how many others arrive
                self._due.update(self._subscriptions)
                next_poll = self._loop.time() + self.pace.poll
            self._wake.clear()
            try:
                await self._read_once()
            except Exception as failure:  # no failure may end the reader: all streams depend on it
                expected = isinstance(failure, (DatabaseUnavailable, NotReady))
                log.warning("streams wait", error=str(failure).strip(), exc_info=not expected)
                await asyncio.sleep(_AFTER_ERROR)
                self._schedule([EVERYTHING])
            rhythm.note()
            await asyncio.sleep(max(rhythm.wait(), 0))

    async def _read_once(self) -> None:
        due, self._due = self._due & self._subscriptions.keys(), set()
        if not due:
            return
        watched = {each: self._subscriptions[each] for each in due}
        positions = {each: min(one.position for one in watching) for each, watching in watched.items()}
        subjects = {each: next(iter(watching)).subject for each, watching in watched.items()}
        found, more = await anyio.to_thread.run_sync(_read_batches, positions, subjects, limiter=self._limiter)
        for its_id, batch in found:
            await self._send(its_id, batch)
        self._schedule(more)
        candidates = [each for its_id in due for each in self._subscriptions.get(its_id, ()) if each.may_be_over]
        by_name = attrgetter("subject.name")
        for _, same_kind in groupby(sorted(candidates, key=by_name), by_name):
            await self._finish(list(same_kind))

    async def _send(self, its_id: str, batch: Batch) -> None:
        watching = list(self._subscriptions.get(its_id, ()))
        for start in range(0, len(watching), _TURN):
            if start:
                await asyncio.sleep(0)
            for subscription in watching[start : start + _TURN]:
                subscription.offer(batch)
                if subscription.over:  # its client is slow: the others do not wait for it
                    self._remove(subscription)

    async def _finish(self, candidates: list[Subscription]) -> None:
        """Ends the streams of those that are finished and whose events were all added. Reads their states again: a dead
        task may have been revived. All candidates are of one kind."""
        subject = candidates[0].subject
        ids = {each.id for each in candidates}
        states: dict[str, Followed]
        states = await anyio.to_thread.run_sync(subject.read_many, ids, limiter=self._limiter)
        wanted = {(each.id, each.with_tracebacks) for each in candidates}
        endings = {
            (its_id, shown): Piece(encode_done(subject, states[its_id], with_tracebacks=shown))
            for its_id, shown in wanted
            if its_id in states and states[its_id].finished
        }
        for subscription in candidates:
            state = states.get(subscription.id)
            if state is None:  # was hidden in the meantime
                self._remove(subscription)
            elif not state.finished:
                subscription.may_be_over = False
            elif subscription.is_complete(state.last_event):
                subscription.end(endings[subscription.id, subscription.with_tracebacks])
                self._remove(subscription)
            else:
                self._schedule([subscription.id])

    def _remove(self, subscription: Subscription) -> None:
        subscription.end()
        watching = self._subscriptions.get(subscription.id, set())
        watching.discard(subscription)
        if not watching:
            self._subscriptions.pop(subscription.id, None)


def _read_batches(positions: dict[str, int], subjects: dict[str, Subject]) -> tuple[list[tuple[str, Batch]], list[str]]:
    """Runs in the reader's thread. Encodes each event once, for any number of streams; one with a traceback twice.
    Also returns those that may have more events."""
    found = get_events_of_many(positions, PAGE)
    batches = [
        (its_id, batch)
        for its_id, events in found.items()
        for batch in split([encode_event(subjects[its_id], event) for event in events], positions[its_id])
    ]
    return batches, [its_id for its_id, events in found.items() if len(events) == PAGE]
