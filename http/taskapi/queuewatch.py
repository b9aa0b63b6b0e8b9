"""The queues' status for all who watch it: one reader for a process, and none when nobody watches."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import anyio.to_thread
import psycopg

from state.errors import NotReady
from state.logs import log
from state.tasks.queues import queue_status
from taskapi.feed import Pace
from taskapi.lines import status_line
from taskapi.views import QueuesStatus

_REST = 4  # counting takes at most a fifth of the time, however many tasks there are


class Place:
    """One stream's place. A client that is slow misses what was in between, and gets what is so now."""

    def __init__(self, watch: "QueueWatch") -> None:
        self._watch = watch
        self._sent: bytes | None = None
        self._not_before = 0.0

    async def take(self) -> bytes | None:
        """The status when it has changed; b"" when it did not for a while; None when none will come any more."""
        watch = self._watch
        with anyio.move_on_after(watch.pace.keep_alive):
            await watch.wait_until(self._not_before)
            while not watch.closed and watch.latest in (None, self._sent):
                await watch.news()
        if watch.closed:
            return None
        if watch.latest in (None, self._sent) or time.monotonic() < self._not_before:
            return b""
        self._sent = watch.latest
        self._not_before = time.monotonic() + watch.pace.poll
        return self._sent


class QueueWatch:
    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self.latest: bytes | None = None  # as it is sent; None: not known
        self._places: set[Place] = set()
        self._watched = asyncio.Event()
        self._news = asyncio.Event()
        self._closing = asyncio.Event()
        self._limiter = anyio.CapacityLimiter(1)
        self._reader = asyncio.get_running_loop().create_task(self._read())

    @property
    def closed(self) -> bool:
        return self._closing.is_set()

    @contextmanager
    def join(self) -> Iterator[Place]:
        place = Place(self)
        self._places.add(place)
        self._watched.set()
        try:
            yield place
        finally:
            self._places.discard(place)
            if not self._places:
                self._watched.clear()
                self.latest = None  # whoever comes later must not be told of the past

    async def news(self) -> None:
        await self._news.wait()

    async def wait_until(self, moment: float) -> None:
        """Or until all streams are to end."""
        with anyio.move_on_after(max(moment - time.monotonic(), 0)):
            await self._closing.wait()

    def close(self) -> None:
        """Ends all streams, as the server is about to stop."""
        self._closing.set()
        self._tell()

    async def stop(self) -> None:
        self.close()
        self._reader.cancel()
        await asyncio.wait([self._reader])

    def _tell(self) -> None:
        told, self._news = self._news, asyncio.Event()
        told.set()

    async def _read(self) -> None:
        while True:
            await self._watched.wait()
            began = time.monotonic()
            try:
                found = await anyio.to_thread.run_sync(_read_status, limiter=self._limiter)
            except Exception as failure:  # whatever it was, the streams go on
                expected = isinstance(failure, (psycopg.OperationalError, NotReady))
                log.warning("queue streams wait", error=str(failure).strip(), exc_info=not expected)
            else:
                if self._places and found != self.latest:
                    self.latest = found
                    self._tell()
            await asyncio.sleep(max(self.pace.poll, _REST * (time.monotonic() - began)))


def _read_status() -> bytes:
    return status_line(QueuesStatus.model_validate(queue_status()))
