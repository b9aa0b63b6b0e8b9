"""The open channels of a process. One timer serves all of them."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from state.logs import log
from taskapi.streams.channel import Channel
from taskapi.streams.sse import KEEP_ALIVE

_ROUNDS = 10  # of the timer in the time between two comments


class Channels:
    """Sends a comment to clients that were sent nothing for a while, and gives those up that do not read."""

    def __init__(self, keep_alive: float, patience: float) -> None:
        self._keep_alive = keep_alive
        self._patience = patience
        self._pause = min(keep_alive, patience) / _ROUNDS
        self._open: dict[Channel, str] = {}  # with the path of the stream
        self._commented: set[Channel] = set()
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(self._pause, self._look)

    @contextmanager
    def keep(self, channel: Channel, path: str, *, comments: bool = True) -> Iterator[None]:
        """`comments`: what the channel carries may have comments in between."""
        self._open[channel] = path
        if comments:
            self._commented.add(channel)
        try:
            yield
        finally:
            del self._open[channel]
            self._commented.discard(channel)
            channel.close()

    def stop(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        self._timer = self._loop.call_later(self._pause, self._look)
        now = self._loop.time()
        since = now - self._keep_alive + self._pause  # the next round would be too late
        for channel, path in self._open.items():
            if channel.is_quiet(since):
                if channel in self._commented:
                    channel.send(KEEP_ALIVE)
            elif channel.is_stuck(now, self._patience):
                log.warning("stream closed: its client does not read", path=path)
                channel.abort()
