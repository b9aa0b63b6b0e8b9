"""Oban for Python: async workers, its own `oban start`, nothing tuned."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from oban import Oban, worker
from oban.schema import install
from psycopg_pool import AsyncConnectionPool

from tests.bench.peers import stamps
from tests.bench.peers.sizes import BATCH, HOLD, NAP, WAIT_VARIABLE

URL = os.environ["BENCH_DATABASE_URL"]
WAIT = float(os.environ.get(WAIT_VARIABLE, "0"))
_runner = asyncio.Runner()
run = _runner.run
_oban: Oban


@worker(queue="default")
class Note:
    async def process(self, job: Any) -> None:
        stamps.record(job.args["index"], job.args["sent"])


@worker(queue="default")
class Nap:
    async def process(self, job: Any) -> None:
        stamps.record(job.args["index"])
        await asyncio.sleep(NAP)


@worker(queue="default")
class Hold:
    async def process(self, job: Any) -> None:
        stamps.record(job.args["index"])
        await asyncio.sleep(HOLD)


@worker(queue="default")
class Wait:
    async def process(self, job: Any) -> None:
        stamps.record(job.args["index"])
        await asyncio.sleep(WAIT)


KINDS: dict[str, Any] = {"note": Note, "anote": Note, "nap": Nap, "hold": Hold, "wait": Wait}


async def setup() -> None:
    async with AsyncConnectionPool(URL, open=False) as pool:
        await install(pool)


@contextmanager
def opened() -> Iterator[None]:
    pool = run(_open())
    yield
    run(pool.close())


async def _open() -> Any:
    """A client: it has no queues, so it only submits."""
    global _oban
    pool = AsyncConnectionPool(URL, min_size=1, max_size=10, open=False)
    await pool.open()
    _oban = Oban(pool=pool)
    return pool


async def send(index: int, sent: float) -> None:
    await Note.enqueue({"index": index, "sent": sent})  # type: ignore[attr-defined]


async def send_batch(rows: list[tuple[int, float]]) -> None:
    await _oban.enqueue_many(
        [KINDS["note"].new({"index": index, "sent": sent}) for index, sent in rows],
    )


async def fill(kind: str, count: int) -> None:
    for first in range(0, count, BATCH):
        indexes = range(first, min(first + BATCH, count))
        await _oban.enqueue_many([KINDS[kind].new({"index": index, "sent": 0.0}) for index in indexes])
