"""A bare asyncio server of server-sent events: /tasks/N/stream follows task N. All streams of a task are written to in
one go; the sockets' own buffers take what a reader does not.

`python -m tests.bench.references.bare_sse TASKS PERIOD`: each task has an event every PERIOD seconds. With
BENCH_DATABASE_URL, `bare_events` makes them in another process and commits them, as a worker does, and the server hears
of them by LISTEN. Without it, the server makes them itself: nothing is between them and the socket.
"""

import asyncio
import os
import sys
import time
from typing import cast

import psycopg

CHANNEL = "bench_events"
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_DROP = 1 << 20  # bytes that a reader may leave unread

Followers = set[asyncio.Transport]


class Stream(asyncio.Protocol):
    def __init__(self, followers: list[Followers]) -> None:
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


def make_event(n: int) -> str:
    return f'{{"n": {n}, "kind": "progress", "data": {{"percent": null, "message": "sent={time.time():.6f}"}}}}'


def send(followers: Followers, n: int, text: str) -> None:
    event = f"id: {n}\nevent: progress\ndata: {text}\n\n".encode()
    chunk = b"%x\r\n%b\r\n" % (len(event), event)
    for transport in list(followers):
        if transport.get_write_buffer_size() > _DROP:
            transport.abort()
        else:
            transport.write(chunk)


async def send_own(followers: Followers, offset: float, period: float) -> None:
    await asyncio.sleep(offset)
    n, due = 0, time.monotonic()
    while True:
        n, due = n + 1, due + period
        send(followers, n, make_event(n))
        await asyncio.sleep(due - time.monotonic())


async def send_heard(followers: list[Followers], database_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
        await connection.execute(f"LISTEN {CHANNEL}")
        async for notification in connection.notifies():
            task, n, text = notification.payload.split(" ", 2)
            send(followers[int(task)], int(n), text)


async def main(tasks: int, period: float, database_url: str | None) -> None:
    followers: list[Followers] = [set() for _ in range(tasks)]
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Stream(followers), "127.0.0.1", 0, backlog=1024)
    print(f"running on http://127.0.0.1:{server.sockets[0].getsockname()[1]} ", flush=True)
    if database_url:
        await send_heard(followers, database_url)
    else:
        await asyncio.gather(*(send_own(each, period * n / tasks, period) for n, each in enumerate(followers)))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), float(sys.argv[2]), os.environ.get("BENCH_DATABASE_URL")))
