"""gzip, where it helps: texts of some length that are sent in one piece. Never streams, ranges, or contents, whose
bytes an ETag names."""

import gzip

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import Message, Receive, Scope, Send

from taskapi.guard.layer import Layer

_TEXTS = {
    "application/json",
    "application/problem+json",
    "application/javascript",
    "text/css",
    "text/html",
    "text/javascript",
    "text/plain",
}
_BYTE_EXACT = ("content-encoding", "content-range", "accept-ranges", "etag")
_MIN_BYTES = 1024
_LEVEL = 5
_THREAD_BYTES = 64 * 1024  # compressing more than that takes a millisecond or two: not on the event loop


class Compression(Layer):
    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        accepted = accepts_gzip(Headers(scope=scope))
        start: Message | None = None  # of an answer that may be compressed; held back until its body is known

        async def send_compressed(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _is_text(message):
                MutableHeaders(raw=message["headers"]).add_vary_header("Accept-Encoding")
                if accepted:
                    start = message
                    return
            elif start is not None:
                begun, start = start, None
                await send(await _compress(begun, message))
            await send(message)

        await self.app(scope, receive, send_compressed)


def accepts_gzip(headers: Headers) -> bool:
    for coding in ",".join(headers.getlist("accept-encoding")).lower().split(","):
        name, _, weight = coding.replace(" ", "").partition(";q=")
        if name in ("gzip", "*"):
            return weight.strip("0.") != "" or weight == ""
    return False


def _is_text(start: Message) -> bool:
    headers = Headers(raw=start.setdefault("headers", []))
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    return media_type in _TEXTS and start["status"] not in (204, 206, 304) and not any(map(headers.get, _BYTE_EXACT))


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
