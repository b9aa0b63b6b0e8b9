"""Celery with Redis as its broker, without a result backend, nothing tuned (a message is acknowledged early)."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from celery import Celery

from tests.bench.peers import stamps
from tests.bench.peers.sizes import HOLD, NAP

app = Celery("bench", broker=os.environ["BENCH_DATABASE_URL"])


@app.task(ignore_result=True)
def note(index: int, sent: float) -> None:
    stamps.record(index, sent)


@app.task(ignore_result=True)
def nap(index: int) -> None:
    stamps.record(index)
    time.sleep(NAP)


@app.task(ignore_result=True)
def hold(index: int) -> None:
    stamps.record(index)
    time.sleep(HOLD)


def setup() -> None:
    """Redis has no schema."""


@contextmanager
def opened() -> Iterator[None]:
    yield
    app.close()


def send(index: int, sent: float) -> None:
    note.delay(index, sent)


send_batch = None  # a group sends its tasks one by one


def fill(kind: str, count: int) -> None:
    for index in range(count):
        if kind == "note":
            send(index, 0.0)
        else:
            {"nap": nap, "hold": hold}[kind].delay(index)
