"""What httptools leaves to its user, and h11 does itself: the size of a request's head, its Host, and answers to
HTTP/1.0, which has no chunks."""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.types import Message

HEAD_BYTES = 64 * 1024


class RequestHeads:
    """A part of uvicorn's protocol for httptools, which calls the methods `on_…`. An error in one of them is answered
    like a request that is not HTTP."""

    parser: Any
    url: bytes
    headers: list[tuple[bytes, bytes]]
    cycle: Any
    send_400_response: Callable[[str], None]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_bytes = 0  # since the last request or piece of a body: of headers, trailers and extensions of chunks

    def data_received(self, data: bytes) -> None:
        self._head_bytes += len(data)
        super().data_received(data)  # type: ignore[misc]  # a method of uvicorn's protocol, as all of these are
        if self._head_bytes > HEAD_BYTES:  # one that has not ended yet
            self.send_400_response("too large")

    def on_headers_complete(self) -> None:
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > HEAD_BYTES:
            raise ValueError("The head of the request is too large.")
        version = self.parser.get_http_version()
        if version == "1.1" and sum(name == b"host" for name, _ in self.headers) != 1:
            raise ValueError("A request needs one Host.")
        super().on_headers_complete()  # type: ignore[misc]
        if version == "1.0":
            self.cycle.send = _send_without_chunks(self.cycle)

    def on_body(self, body: bytes) -> None:
        self._head_bytes = 0
        super().on_body(body)  # type: ignore[misc]

    def on_message_complete(self) -> None:
        self._head_bytes = 0
        super().on_message_complete()  # type: ignore[misc]


def _send_without_chunks(cycle: Any) -> Callable[[Message], Awaitable[None]]:
    """An answer whose length is not known ends with its connection."""
    send: Callable[[Message], Awaitable[None]] = cycle.send
    unbounded = False

    async def send_message(message: Message) -> None:
        nonlocal unbounded
        if message["type"] == "http.response.start":
            unbounded = all(name.lower() != b"content-length" for name, _ in message.get("headers", ()))
            cycle.chunked_encoding = False if unbounded else None
        elif unbounded:
            cycle.expected_content_length = len(message.get("body", b""))
        await send(message)

    return send_message
