"""PgQueuer: async entrypoints on asyncpg, durable tables as `pgq install` makes them.

`python -m tests.bench.peers.apps.pgqueuer_app [BATCH]` does what `pgq run` does: that command fails with newer versions
of typer.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import asyncpg
import pgqueuer
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries

from tests.bench.peers import stamps
from tests.bench.peers.sizes import BATCH, HOLD, NAP, WAIT_VARIABLE

URL = os.environ["BENCH_DATABASE_URL"]
WAIT = float(os.environ.get(WAIT_VARIABLE, "0"))
_runner = asyncio.Runner()
run = _runner.run
_queries: Queries


@asynccontextmanager
async def create() -> AsyncIterator[PgQueuer]:
    connection = await asyncpg.connect(URL)
    queuer = PgQueuer(AsyncpgDriver(connection))

    @queuer.entrypoint("note")
    async def note(job: Job) -> None:
        index, sent = json.loads(job.payload or b"")
        stamps.record(index, sent)

    def declare(kind: str, seconds: float) -> None:
        @queuer.entrypoint(kind)
        async def entry(job: Job) -> None:
            stamps.record(json.loads(job.payload or b"")[0])
            await asyncio.sleep(seconds)

    for kind, seconds in (("nap", NAP), ("hold", HOLD), ("wait", WAIT)):
        declare(kind, seconds)
    try:
        yield queuer
    finally:
        await connection.close()


async def setup() -> None:
    connection = await asyncpg.connect(URL)
    await Queries(AsyncpgDriver(connection)).install()
    await connection.close()


@contextmanager
def opened() -> Iterator[None]:
    global _queries
    connection = run(_connect())
    _queries = Queries(AsyncpgDriver(connection))
    yield
    run(connection.close())


async def _connect() -> Any:
    return await asyncpg.connect(URL)


async def send(index: int, sent: float) -> None:
    await _queries.enqueue("note", json.dumps([index, sent]).encode())


async def send_batch(rows: list[tuple[int, float]]) -> None:
    await _enqueue("note", [json.dumps(row).encode() for row in rows])


async def fill(kind: str, count: int) -> None:
    entrypoint = "note" if kind == "anote" else kind
    for first in range(0, count, BATCH):
        indexes = range(first, min(first + BATCH, count))
        await _enqueue(entrypoint, [json.dumps([index, 0.0]).encode() for index in indexes])


async def _enqueue(entrypoint: str, payloads: list[bytes]) -> None:
    await _queries.enqueue([entrypoint] * len(payloads), list(payloads), [0] * len(payloads))


if __name__ == "__main__":
    batch = {"batch_size": int(sys.argv[1])} if len(sys.argv) > 1 else {}
    uvloop.run(pgqueuer.run(create, **batch))
