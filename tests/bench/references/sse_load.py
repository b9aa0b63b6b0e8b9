"""Opens many streams of server-sent events and notes how old each event is when it arrives.

`python -m tests.bench.references.sse_load SPEC`, SPEC a file with {port, paths, frozen_paths, headers, warm_seconds,
seconds}: a stream for each path, and one that is never read for each frozen path. Events say in their message when they
were made (`sent=`, Unix time). Prints {events, p50_ms, p99_ms, max_ms, lost, cpu}.
"""

import asyncio
import json
import re
import socket
import statistics
import sys
import time
from pathlib import Path
from typing import Any, cast

import uvloop

OPENING = 40  # streams that are opened at the same time
_SENT = re.compile(rb"event: progress\r?\ndata: [^\n]*?sent=(\d+\.\d+)")


class Reader(asyncio.Protocol):
    def __init__(self, request: bytes, ages: list[float], reading: asyncio.Event, lost: list[str]) -> None:
        self._request = request
        self._ages = ages
        self._counting = reading
        self._lost = lost
        self._rest = b""
        self.opened = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast("asyncio.Transport", transport).write(self._request)

    def data_received(self, data: bytes) -> None:
        now = time.time()
        if not self.opened.done():
            status = data[9:12]
            if status == b"200":
                self.opened.set_result(None)
            else:
                self.opened.set_exception(ConnectionError(f"a stream was answered {data[:300]!r}"))
        whole, _, self._rest = (self._rest + data).rpartition(b"\n\n")
        if self._counting.is_set():
            self._ages.extend(now - float(sent) for sent in _SENT.findall(whole))

    def connection_lost(self, error: Exception | None) -> None:
        self._lost.append(str(error))
        if not self.opened.done():
            self.opened.set_exception(error or ConnectionError("a stream was closed before its answer"))


def make_request(path: str, headers: dict[str, str]) -> bytes:
    lines = [f"GET {path} HTTP/1.1", "Host: 127.0.0.1", "Accept: text/event-stream"]
    return "\r\n".join([*lines, *(f"{name}: {value}" for name, value in headers.items()), "", ""]).encode()


async def freeze(path: str, spec: dict[str, Any]) -> socket.socket:
    """A client that asks for a stream and never reads it. Its small buffer makes it the server's concern at once."""
    frozen = socket.socket()
    frozen.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    frozen.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(frozen, ("127.0.0.1", spec["port"]))
    await loop.sock_sendall(frozen, make_request(path, spec["headers"]))
    return frozen


async def run(spec: dict[str, Any]) -> dict[str, Any]:
    ages: list[float] = []
    lost: list[str] = []
    counting = asyncio.Event()
    loop = asyncio.get_running_loop()
    places = asyncio.Semaphore(OPENING)

    async def open_stream(path: str) -> None:
        async with places:
            request = make_request(path, spec["headers"])
            _, reader = await loop.create_connection(
                lambda: Reader(request, ages, counting, lost), "127.0.0.1", spec["port"]
            )
            await asyncio.wait_for(reader.opened, 60)

    await asyncio.gather(*map(open_stream, spec["paths"]))
    frozen = [await freeze(path, spec) for path in spec["frozen_paths"]]
    await asyncio.sleep(spec["warm_seconds"])
    counting.set()
    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.sleep(spec["seconds"])
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    counting.clear()
    for each in frozen:
        each.close()
    centiles = statistics.quantiles(ages, n=100) if len(ages) > 1 else [0.0] * 99
    return {
        "events": len(ages),
        "p50_ms": centiles[49] * 1000,
        "p99_ms": centiles[98] * 1000,
        "max_ms": max(ages, default=0.0) * 1000,
        "lost": len(lost),
        "cpu": cpu / seconds,
    }


if __name__ == "__main__":
    print(json.dumps(uvloop.run(run(json.loads(Path(sys.argv[1]).read_text())))))
