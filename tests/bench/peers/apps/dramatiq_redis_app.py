"""Dramatiq with its own Redis broker, nothing tuned."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from tests.bench.peers import stamps
from tests.bench.peers.sizes import HOLD, NAP

broker = RedisBroker(url=os.environ["BENCH_DATABASE_URL"])
dramatiq.set_broker(broker)


@dramatiq.actor
def note(index: int, sent: float) -> None:
    stamps.record(index, sent)


@dramatiq.actor
def nap(index: int) -> None:
    stamps.record(index)
    time.sleep(NAP)


@dramatiq.actor
def hold(index: int) -> None:
    stamps.record(index)
    time.sleep(HOLD)


def setup() -> None:
    """Redis has no schema."""


@contextmanager
def opened() -> Iterator[None]:
    yield
    broker.close()


def send(index: int, sent: float) -> None:
    note.send(index, sent)


send_batch = None  # Dramatiq has no batched submit


def fill(kind: str, count: int) -> None:
    for index in range(count):
        if kind == "note":
            send(index, 0.0)
        else:
            {"nap": nap, "hold": hold}[kind].send(index)
