"""A bare asyncio server of server-sent events, which makes the events itself: nothing is between them and the socket.

`python -m tests.bench.references.bare_sse TASKS PERIOD`: /tasks/N/stream follows task N, which has an event every
PERIOD seconds. All streams of a task are written to in one go; the sockets' own buffers take what a reader does not.
"""

import asyncio
import sys
import time
from typing import cast

_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_DROP = 1 << 20  # bytes that a reader may leave unread


class Stream(asyncio.Protocol):
    def __init__(self, followers: list[set[asyncio.Transport]]) -> None:
        self._followers = followers
        self._task: int | None = None
        self._request = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._request += data
        if self._task is None and b"\r\n\r\n" in self._request:
            self._task = int(self._request.split(b"/")[2])
            self._transport.write(_HEAD)
            self._followers[self._task].add(self._transport)

    def connection_lost(self, error: Exception | None) -> None:
        if self._task is not None:
            self._followers[self._task].discard(self._transport)


async def make_events(followers: set[asyncio.Transport], offset: float, period: float) -> None:
    await asyncio.sleep(offset)
    n, due = 0, time.monotonic()
    while True:
        n, due = n + 1, due + period
        text = f'{{"n": {n}, "kind": "progress", "data": {{"percent": null, "message": "sent={time.time():.6f}"}}}}'
        event = f"id: {n}\nevent: progress\ndata: {text}\n\n".encode()
        chunk = b"%x\r\n%b\r\n" % (len(event), event)
        for transport in list(followers):
            if transport.get_write_buffer_size() > _DROP:
                transport.abort()
            else:
                transport.write(chunk)
        await asyncio.sleep(due - time.monotonic())


async def main(tasks: int, period: float) -> None:
    followers: list[set[asyncio.Transport]] = [set() for _ in range(tasks)]
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Stream(followers), "127.0.0.1", 0, backlog=1024)
    print(f"running on http://127.0.0.1:{server.sockets[0].getsockname()[1]} ", flush=True)
    await asyncio.gather(*(make_events(each, period * n / tasks, period) for n, each in enumerate(followers)))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), float(sys.argv[2])))
