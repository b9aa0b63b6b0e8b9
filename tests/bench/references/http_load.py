"""Loads an HTTP server over kept-alive connections, each of which sends its next request when it has its answer.

`python -m tests.bench.references.http_load SPEC`, SPEC a file with {port, connections, seconds, warm_seconds, method,
paths, headers, body}. Prints {rate, p50_ms, p99_ms, statuses, cpu}. No HTTP library: the answers of these servers have
a Content-Length, and the client must cost little beside what it measures.
"""

import asyncio
import itertools
import json
import re
import statistics
import sys
import time
from pathlib import Path
from typing import Any, cast

import uvloop

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


class Load:
    """What all connections share."""

    def __init__(self, spec: dict[str, Any]) -> None:
        body = json.dumps(spec["body"]).encode() if spec.get("body") is not None else b""
        headers = {**spec["headers"], "Host": "127.0.0.1"}
        if body:
            headers |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.requests = itertools.cycle(
            [f"{spec['method']} {path} HTTP/1.1\r\n{head}\r\n".encode() + body for path in spec["paths"]]
        )
        self.times: list[float] = []
        self.statuses: dict[str, int] = {}
        self.counting = self.over = False


class Connection(asyncio.Protocol):
    def __init__(self, load: Load) -> None:
        self._load = load
        self._buffer = b""
        self.lost = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._send()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        length = _LENGTH.search(self._buffer, 0, end)
        if length is None:
            self._fail(ValueError(f"an answer without Content-Length: {self._buffer[:200]!r}"))
        elif len(self._buffer) >= end + 4 + int(length[1]):
            self._answered(self._buffer[9:12].decode())

    def connection_lost(self, error: Exception | None) -> None:
        self._fail(error or ConnectionError("the server closed the connection"))

    def _answered(self, status: str) -> None:
        load = self._load
        if load.counting:
            load.times.append(time.perf_counter() - self._began)
            load.statuses[status] = load.statuses.get(status, 0) + 1
        self._buffer = b""
        if not load.over:
            self._send()

    def _send(self) -> None:
        self._began = time.perf_counter()
        self._transport.write(next(self._load.requests))

    def _fail(self, error: Exception) -> None:
        if not self.lost.done() and not self._load.over:
            self.lost.set_exception(error)


async def run(spec: dict[str, Any]) -> dict[str, Any]:
    load = Load(spec)
    loop = asyncio.get_running_loop()
    opened = [
        await loop.create_connection(lambda: Connection(load), "127.0.0.1", spec["port"])
        for _ in range(spec["connections"])
    ]
    failed = asyncio.gather(*(protocol.lost for _, protocol in opened))
    await _sleep_unless(failed, spec["warm_seconds"])
    load.counting = True
    began, cpu = time.perf_counter(), time.process_time()
    await _sleep_unless(failed, spec["seconds"])
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    load.counting, load.over = False, True
    failed.cancel()
    for transport, _ in opened:
        transport.abort()
    centiles = statistics.quantiles(load.times, n=100)
    return {
        "rate": len(load.times) / seconds,
        "p50_ms": centiles[49] * 1000,
        "p99_ms": centiles[98] * 1000,
        "statuses": load.statuses,
        "cpu": cpu / seconds,
    }


async def _sleep_unless(failed: "asyncio.Future[Any]", seconds: float) -> None:
    done, _ = await asyncio.wait([failed], timeout=seconds)
    for future in done:
        future.result()


if __name__ == "__main__":
    print(json.dumps(uvloop.run(run(json.loads(Path(sys.argv[1]).read_text())))))
