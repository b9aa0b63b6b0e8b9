"""gzip, where it helps: texts of some length that are sent in one piece. Never streams, ranges, or contents, whose
bytes an ETag names."""

import gzip
from collections.abc import Awaitable

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.types import Message, Receive, Scope, Send

from taskapi.guard.layer import Layer

_TEXTS = {
    b"application/json",
    b"application/problem+json",
    b"application/javascript",
    b"text/css",
    b"text/html",
    b"text/javascript",
    b"text/plain",
}
_BYTE_EXACT = {b"content-encoding", b"content-range", b"accept-ranges", b"etag"}
_MIN_BYTES = 1024
_LEVEL = 5
_THREAD_BYTES = 64 * 1024  # compressing more than that takes a millisecond or two: not on the event loop


class Compression(Layer):
    def handle(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        start: Message | None = None  # of an answer that may be compressed; held back until its body is known

        def send_compressed(message: Message) -> Awaitable[None]:
            nonlocal start
            if message["type"] == "http.response.start" and _is_text(message):
                _add_vary(message["headers"])
                if accepts_gzip(scope):
                    start = message
                    return _send_nothing()
            elif start is not None:
                begun, start = start, None
                return _send_compressed(send, begun, message)
            return send(message)

        return self.app(scope, receive, send_compressed)


async def _send_nothing() -> None:
    pass


async def _send_compressed(send: Send, start: Message, body: Message) -> None:
    await send(await _compress(start, body))
    await send(body)


def accepts_gzip(scope: Scope) -> bool:
    accepted = [value.decode("latin-1") for name, value in scope["headers"] if name == b"accept-encoding"]
    for coding in ",".join(accepted).lower().split(","):
        name, _, weight = coding.replace(" ", "").partition(";q=")
        if name in ("gzip", "*"):
            return weight.strip("0.") != "" or weight == ""
    return False


def _is_text(start: Message) -> bool:
    media_type = b""
    for name, value in start.setdefault("headers", []):
        if (lower := name.lower()) == b"content-type":
            media_type = value
        elif lower in _BYTE_EXACT:
            return False
    return media_type.partition(b";")[0].strip().lower() in _TEXTS and start["status"] not in (204, 206, 304)


def _add_vary(headers: list[tuple[bytes, bytes]]) -> None:
    if any(name.lower() == b"vary" for name, _ in headers):
        MutableHeaders(raw=headers).add_vary_header("Accept-Encoding")
    else:
        headers.append((b"vary", b"Accept-Encoding"))


async def _compress(start: Message, body: Message) -> Message:
    """Compresses the body in place, and returns the start of the answer with the headers that follow from it."""
    plain: bytes = body.get("body", b"")
    if body.get("more_body") or len(plain) < _MIN_BYTES:
        return start
    packed = (
        await run_in_threadpool(gzip.compress, plain, _LEVEL)
        if len(plain) > _THREAD_BYTES
        else gzip.compress(plain, _LEVEL)
    )
    if len(packed) < len(plain):
        body["body"] = packed
        headers = MutableHeaders(raw=start["headers"])
        headers["Content-Encoding"] = "gzip"
        headers["Content-Length"] = str(len(packed))
    return start
