"""Procrastinate: psycopg, its own worker command; sync tasks, and async ones where those are measured."""

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

import procrastinate

from tests.bench.peers import stamps
from tests.bench.peers.sizes import BATCH, HOLD, NAP, WAIT_VARIABLE

WAIT = float(os.environ.get(WAIT_VARIABLE, "0"))
app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=os.environ["BENCH_DATABASE_URL"]))


@app.task(name="note")
def note(index: int, sent: float) -> None:
    stamps.record(index, sent)


@app.task(name="nap")
def nap(index: int) -> None:
    stamps.record(index)
    time.sleep(NAP)


@app.task(name="hold")
def hold(index: int) -> None:
    stamps.record(index)
    time.sleep(HOLD)


@app.task(name="anote")
async def anote(index: int) -> None:
    stamps.record(index)


@app.task(name="wait")
async def wait(index: int) -> None:
    stamps.record(index)
    await asyncio.sleep(WAIT)


def setup() -> None:
    with app.open():
        app.schema_manager.apply_schema()


@contextmanager
def opened() -> Iterator[None]:
    with app.open():
        yield


def send(index: int, sent: float) -> None:
    note.defer(index=index, sent=sent)


def send_batch(rows: list[tuple[int, float]]) -> None:
    note.batch_defer(*({"index": index, "sent": sent} for index, sent in rows))


def fill(kind: str, count: int) -> None:
    tasks = {"nap": nap, "hold": hold, "anote": anote, "wait": wait}
    for first in range(0, count, BATCH):
        indexes = range(first, min(first + BATCH, count))
        if kind == "note":
            send_batch([(index, 0.0) for index in indexes])
        else:
            tasks[kind].batch_defer(*({"index": index} for index in indexes))
