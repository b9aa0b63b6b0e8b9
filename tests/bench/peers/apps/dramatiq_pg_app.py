"""Stock dramatiq-pg: its own broker, consumer and schema.sql, nothing tuned."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

import dramatiq
import psycopg2
from dramatiq_pg import PostgresBroker
from dramatiq_pg.schema import generate_init_sql
from psycopg2.extras import execute_values

from tests.bench.peers import stamps
from tests.bench.peers.sizes import HOLD, NAP

URL = os.environ["BENCH_DATABASE_URL"]
broker = PostgresBroker(url=URL)
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
    with psycopg2.connect(URL) as connection, connection.cursor() as cursor:
        cursor.execute(generate_init_sql())


@contextmanager
def opened() -> Iterator[None]:
    yield
    broker.pool.closeall()


def send(index: int, sent: float) -> None:
    note.send(index, sent)


send_batch = None  # dramatiq-pg has no batched submit


def fill(kind: str, count: int) -> None:
    """The rows that `send` would write, in one transaction: filling is not what is measured."""
    if kind == "hold":  # its workers run already, and must be notified
        for index in range(count):
            hold.send(index)
        return
    messages = (note.message(index, 0.0) if kind == "note" else nap.message(index) for index in range(count))
    rows = ((m.queue_name, m.message_id, "queued", json.dumps(json.loads(m.encode()))) for m in messages)
    with psycopg2.connect(URL) as connection, connection.cursor() as cursor:
        execute_values(
            cursor,
            'insert into dramatiq.queue (queue_name, message_id, "state", message) values %s',
            rows,
            page_size=1000,
        )
