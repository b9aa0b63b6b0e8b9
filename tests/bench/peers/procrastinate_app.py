"""Procrastinate: sync tasks, psycopg, its own worker command."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

import procrastinate

from tests.bench import stamps
from tests.bench.contender import BATCH
from tests.bench.driver import NAP

app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=os.environ["BENCH_DATABASE_URL"]))


@app.task(name="note")
def note(index: int, sent: float) -> None:
    stamps.record(index, sent)


@app.task(name="nap")
def nap(index: int) -> None:
    stamps.record(index)
    time.sleep(NAP)


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
    for first in range(0, count, BATCH):
        indexes = range(first, min(first + BATCH, count))
        if kind == "note":
            send_batch([(index, 0.0) for index in indexes])
        else:
            nap.batch_defer(*({"index": index} for index in indexes))
