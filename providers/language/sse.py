"""The data of server-sent events, read with a limit on silence."""

import time
from collections.abc import Iterator

import httpx2

from providers.errors import NetworkTimeout, ServerError

MAX_EVENT = 1024 * 1024


def data_lines(response: httpx2.Response, service: str, silence: float) -> Iterator[str]:
    """Each `data:` line of a stream. Comments are no sign of life: OpenRouter sends them for as long as a
    model has nothing to say, and httpx2's own reader would wait for ever."""
    buffer = b""
    end = time.monotonic() + silence
    for chunk in response.iter_bytes():
        *lines, buffer = (buffer + chunk).split(b"\n")
        if len(buffer) > MAX_EVENT:
            raise ServerError(f"{service} sent an event of more than {MAX_EVENT} bytes")
        for line in lines:
            if line.startswith(b"data:"):
                yield line[5:].strip().decode("utf-8", "replace")
                end = time.monotonic() + silence
        if time.monotonic() > end:
            raise NetworkTimeout(f"{service} sent nothing for {silence:g} s")
