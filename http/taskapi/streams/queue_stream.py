"""GET /queues/stream: the status of the queues whenever it changes. One reader of a process serves all streams, and
reads nothing while there are none."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response

from state.database.errors import DatabaseUnavailable
from state.errors import NotReady
from state.logs import log
from state.tasks.queues import get_queue_status
from taskapi.api.operation import PREFIX, Operation
from taskapi.api.parameters import TokenQuery
from taskapi.resources.queues import QueuesStatus
from taskapi.streams.channel import Channel
from taskapi.streams.feed import Pace
from taskapi.streams.response import StreamResponse
from taskapi.streams.sse import MEDIA_TYPE, RETRY, Piece, encode_status, send_headers

_REST = 4  # counting takes at most a fifth of the time, no matter how many tasks there are


class QueueSubscription:
    """The subscription of one stream. A slow client misses changes in between and gets the current status."""

    def __init__(self, watch: "QueueWatch") -> None:
        self._watch = watch
        self._sent: Piece | None = None
        self._not_before = 0.0

    async def take(self) -> Piece | None:
        """Returns the status when it has changed, or None when the stream ends."""
        watch = self._watch
        await watch.wait_until(self._not_before)
        while not watch.closed and watch.latest in (None, self._sent):
            await watch.wait_for_change()
        if watch.closed:
            return None
        self._sent = watch.latest
        self._not_before = time.monotonic() + watch.pace.poll
        return self._sent


class QueueWatch:
    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self.latest: Piece | None = None  # the frame to send; None: not known
        self._subscriptions: set[QueueSubscription] = set()
        self._watched = asyncio.Event()
        self._changed = asyncio.Event()
        self._closing = asyncio.Event()
        self._limiter = anyio.CapacityLimiter(1)
        self._reader = asyncio.get_running_loop().create_task(self._read())

    @property
    def closed(self) -> bool:
        return self._closing.is_set()

    @contextmanager
    def subscribe(self) -> Iterator[QueueSubscription]:
        subscription = QueueSubscription(self)
        self._subscriptions.add(subscription)
        self._watched.set()
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)
            if not self._subscriptions:
                self._watched.clear()
                self.latest = None  # a later stream must not begin with an old status

    async def wait_for_change(self) -> None:
        await self._changed.wait()

    async def wait_until(self, moment: float) -> None:
        """Returns at the moment, or when all streams end."""
        with anyio.move_on_after(max(moment - time.monotonic(), 0)):
            await self._closing.wait()

    def close(self) -> None:
        """Ends all streams because the server is about to stop."""
        self._closing.set()
        self._announce_change()

    async def stop(self) -> None:
        self.close()
        self._reader.cancel()
        await asyncio.wait([self._reader])

    def _announce_change(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def _read(self) -> None:
        while True:
            await self._watched.wait()
            began = time.monotonic()
            try:
                text = await anyio.to_thread.run_sync(_read_frame, limiter=self._limiter)
            except Exception as failure:  # no failure may end the reader: all streams depend on it
                expected = isinstance(failure, (DatabaseUnavailable, NotReady))
                log.warning("queue streams wait", error=str(failure).strip(), exc_info=not expected)
            else:
                if self._subscriptions and (self.latest is None or text != self.latest.text):
                    self.latest = Piece(text)
                    self._announce_change()
            await asyncio.sleep(max(self.pace.poll, _REST * (time.monotonic() - began)))


def _read_frame() -> bytes:
    return encode_status(QueuesStatus.model_validate(get_queue_status()))


async def get_stream(request: Request) -> Response:
    if request.method == "HEAD":
        return send_headers()
    watch: QueueWatch = request.app.state.queue_watch

    async def write(channel: Channel) -> None:
        await channel.put(RETRY)
        with watch.subscribe() as subscription:
            while (status := await subscription.take()) is not None:
                await channel.put(status)

    return StreamResponse(request, watch.pace, write)


OPERATIONS = [
    Operation(
        "GET",
        f"{PREFIX}/queues/stream",
        get_stream,
        "Follow the queues: `status` whenever it changes, at most once a second",
        {200: MEDIA_TYPE},
        query=TokenQuery,
        by_token=True,
        role="operator",
        scope="all",
    ),
]
