"""Reads the data of server-sent events, with a limit on the time between two of them."""

import time
from collections.abc import AsyncIterator

import httpx2

from providers.errors import NetworkTimeout, ServerError

MAX_EVENT = 1024 * 1024


async def read_data(response: httpx2.Response, service: str, max_silence: float) -> AsyncIterator[str]:
    """Yields the value of each `data` field of a stream. Comments do not count: OpenRouter sends them for as long as
    the model generates nothing, so that the read timeout of httpx2 never ends."""
    buffer = b""
    end = time.monotonic() + max_silence
    async for chunk in response.aiter_bytes():
        *lines, buffer = (buffer + chunk).split(b"\n")
        if len(buffer) > MAX_EVENT:
            raise ServerError(f"{service} sent an event of more than {MAX_EVENT} bytes")
        for line in lines:
            if line.startswith(b"data:"):
                yield line[5:].strip().decode("utf-8", "replace")
                end = time.monotonic() + max_silence
        if time.monotonic() > end:
            raise NetworkTimeout(f"{service} sent nothing for {max_silence:g} s")
