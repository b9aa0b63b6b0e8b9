"""The head and the body of an answer in one packet: uvicorn writes them one after the other, and each write wakes the
client."""

import asyncio
from typing import Any

_MOST = 64 * 1024  # bytes that wait for the end of the step: more is not worth joining, and must meet the flow control


class JoinedWrites:
    """A transport that joins what is written to it in one step of the event loop."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self.direct = transport
        self._loop = asyncio.get_running_loop()
        self._parts: list[bytes] = []
        self._bytes = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.direct, name)

    def write(self, data: bytes) -> None:
        if not self._parts:
            self._loop.call_soon(self.flush)
        self._parts.append(data)
        self._bytes += len(data)
        if self._bytes > _MOST:
            self.flush()

    def flush(self) -> None:
        if self._parts:
            parts, self._parts, self._bytes = self._parts, [], 0
            self.direct.write(b"".join(parts))

    def close(self) -> None:
        self.flush()
        self.direct.close()
