"""The way of a stream to its client. What is sent goes to the connection at once; what a slow client has not read yet
waits here. Channels share what they hold, so a client that reads nothing costs no more than its connection."""

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable

from starlette.types import Scope, Send

from taskapi.guard.wire import Wire, find_wire
from taskapi.streams.sse import Piece


class Channel(ABC):
    def __init__(self, capacity: int, lose: Callable[[], None]) -> None:
        self._capacity = capacity  # bytes that may wait
        self.lose = lose  # ends the stream: its client cannot be reached any more
        self._waiting: deque[Piece] = deque()
        self._bytes = 0  # of what waits
        self._paused = False  # the client has not read what was written
        self._readable = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self.last_write = self._loop.time()
        self._progress: tuple[int, float] = (-1, 0.0)  # of a client that has not read everything: how far, since when

    def send(self, piece: Piece) -> bool:
        """Returns False, and does not take the piece, if too much waits already."""
        if not self._paused:
            self._write(piece)
            return True
        if self._bytes + len(piece.text) > self._capacity:
            return False
        self._waiting.append(piece)
        self._bytes += len(piece.text)
        return True

    async def put(self, piece: Piece) -> None:
        """Sends the piece when the client has read what was sent before."""
        await self.drain()
        self._write(piece)

    async def drain(self) -> None:
        """Waits until the client has read what was sent."""
        while self._paused:
            self._readable.clear()
            await self._readable.wait()

    def pause(self) -> None:
        self._paused = True
        self._progress = (-1, 0.0)

    def resume(self) -> None:
        self._paused = False
        while self._waiting and not self._paused:
            piece = self._waiting.popleft()
            self._bytes -= len(piece.text)
            self._write(piece)
        if not self._paused:
            self._readable.set()

    def is_quiet(self, since: float) -> bool:
        """Whether the client has read everything, and was sent nothing since then."""
        return not self._paused and self.last_write < since

    def is_stuck(self, now: float, patience: float) -> bool:
        """Whether the client has read nothing for that long, although there is something to read."""
        if not self._paused:
            return False
        unread, since = self._progress
        if (current := self._count_unread()) != unread:
            self._progress = (current, now)
            return False
        return now - since >= patience

    def _write(self, piece: Piece) -> None:
        self.last_write = self._loop.time()
        self._transmit(piece)

    @abstractmethod
    def _transmit(self, piece: Piece) -> None:
        """Hands the piece over. Calls `pause` if no more can be handed over for now."""

    @abstractmethod
    def _count_unread(self) -> int:
        """Returns a number that changes whenever the client reads."""

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def abort(self) -> None:
        """Gives the client up."""


class DirectChannel(Channel):
    """Writes to the transport of the connection, without a task in between."""

    def __init__(self, wire: Wire, capacity: int, lose: Callable[[], None], *, chunked: bool) -> None:
        super().__init__(capacity, lose)
        self._wire = wire
        self._chunked = chunked
        self._transport = wire.attach(self)

    def _transmit(self, piece: Piece) -> None:
        if not self._transport.is_closing():
            self._transport.write(piece.chunk if self._chunked else piece.text)

    def _count_unread(self) -> int:
        return self._transport.get_write_buffer_size()

    def close(self) -> None:
        self._wire.detach()

    def abort(self) -> None:
        self._transport.abort()


class AsgiChannel(Channel):
    """Sends through the server's own interface, where nothing more direct is known: one message at a time."""

    def __init__(self, send: Send, capacity: int, lose: Callable[[], None]) -> None:
        super().__init__(capacity, lose)
        self._send = send
        self._next = asyncio.Event()
        self._text = b""
        self._sent = 0
        self._sender = self._loop.create_task(self._run())

    async def _run(self) -> None:
        try:
            while True:
                await self._next.wait()
                self._next.clear()
                await self._send({"type": "http.response.body", "body": self._text, "more_body": True})
                self._sent += 1
                self.resume()
        except OSError:  # the client has left
            self.lose()

    def _transmit(self, piece: Piece) -> None:
        self._text = piece.text
        self._next.set()
        self.pause()

    def _count_unread(self) -> int:
        return self._sent

    def close(self) -> None:
        self._sender.cancel()

    def abort(self) -> None:
        self.lose()


def open_channel(scope: Scope, send: Send, capacity: int, lose: Callable[[], None]) -> Channel:
    wire = find_wire(scope)
    if wire is None:
        return AsgiChannel(send, capacity, lose)
    return DirectChannel(wire, capacity, lose, chunked=scope["http_version"] != "1.0")  # which has no chunks
