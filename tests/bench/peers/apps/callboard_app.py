"""Callboard: its own actors beside the built-in ones, submitted through the state store."""

import asyncio
import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import BaseModel

import actors  # noqa: F401  (sets the broker)
from broker import Context, task
from state import NewTask, submit, submit_many
from state.database import close_database, connect
from state.database.notifier import flush_hints
from state.logs import configure_logs
from state.schema.migration import migrate
from state.workers.leases import ClaimRequest, claim
from tests.bench.peers import stamps
from tests.bench.peers.sizes import BATCH, HOLD, NAP, THREADS, WAIT_VARIABLE

QUEUE = "bench"
ASYNC_QUEUE = "bench-async"
WAIT = float(os.environ.get(WAIT_VARIABLE, "0"))
CLAIMS = 120  # of THREADS tasks each, out of at least 1,000


class Note(BaseModel):
    index: int
    sent: float = 0.0


@task(queue=QUEUE)
def note(ctx: Context, request: Note) -> None:
    stamps.record(request.index, request.sent)


@task(queue=QUEUE)
def nap(ctx: Context, request: Note) -> None:
    stamps.record(request.index)
    time.sleep(NAP)


@task(queue=QUEUE)
def hold(ctx: Context, request: Note) -> None:
    stamps.record(request.index)
    time.sleep(HOLD)


@task(queue=ASYNC_QUEUE)
async def anote(ctx: Context, request: Note) -> None:
    stamps.record(request.index)


@task(queue=ASYNC_QUEUE)
async def wait(ctx: Context, request: Note) -> None:
    stamps.record(request.index)
    await asyncio.sleep(WAIT)


class Ticks(BaseModel):
    offset: float
    period: float
    padding: str = ""


@task(queue=QUEUE)
def ticks(ctx: Context, request: Ticks) -> None:
    """Reports when it reports, until it is stopped."""
    due = time.monotonic() + request.offset
    while True:
        time.sleep(max(0.0, due - time.monotonic()))
        ctx.progress(message=f"sent={time.time():.6f}")
        due += request.period


def setup() -> None:
    migrate()
    close_database()


@contextmanager
def opened() -> Iterator[None]:
    configure_logs()
    yield
    flush_hints()
    close_database()


def send(index: int, sent: float) -> None:
    submit("note", {"index": index, "sent": sent})


def send_batch(rows: list[tuple[int, float]]) -> None:
    submit_many([NewTask("note", {"index": index, "sent": sent}) for index, sent in rows])


def fill(kind: str, count: int) -> None:
    for first in range(0, count, BATCH):
        submit_many([NewTask(kind, {"index": index}) for index in range(first, min(first + BATCH, count))])


def fill_table(rows: dict[str, int]) -> None:
    """Rows as submit and settle leave them, made by Postgres itself: a million of them in seconds."""
    with opened():
        with connect("bench") as connection:
            connection.execute("TRUNCATE callboard.tasks, callboard.leases, callboard.events")
        model = submit("note", {"index": 0}).task_id
        with connect("bench") as connection, connection.transaction():
            connection.execute(
                "SET LOCAL statement_timeout = 0; SET LOCAL session_replication_role = replica", prepare=False
            )
            columns = connection.execute(
                "SELECT string_agg(quote_ident(column_name), ', ') AS names FROM information_schema.columns "
                "WHERE table_schema = 'callboard' AND table_name = 'tasks' "
                "AND column_name NOT IN ('id', 'status', 'rank', 'waiting_gate', 'available_at')"
            ).fetchone()
            names = columns["names"] if columns else ""
            for status, count in rows.items():
                gate = "'provider:closed'" if status == "waiting" else "NULL"
                due = "available_at + interval '1 day'" if status == "scheduled" else "available_at"
                connection.execute(
                    f"INSERT INTO callboard.tasks (id, status, rank, waiting_gate, available_at, {names}) "
                    f"SELECT 'tq_{status[0]}' || lpad(n::text, 30, '0'), '{status}', rank + n, {gate}, {due}, {names} "
                    f"FROM callboard.tasks, generate_series(1, {count}) AS n WHERE id = '{model}'"
                )
            connection.execute("DELETE FROM callboard.tasks WHERE id = %s", [model])


def claim_ms() -> float:
    """Returns how long a claim for all threads of a process takes: the lower quartile, as the machine has hiccups."""
    times = []
    with connect("bench") as connection:
        for number in range(CLAIMS):
            request = ClaimRequest(
                "bench", number, [QUEUE, "agents", "language", "media"], [], THREADS, 0, 0, [], None, 0.3
            )
            began = time.perf_counter()
            claimed = claim(connection, request)
            times.append(time.perf_counter() - began)
            if len(claimed.tasks) != THREADS:
                raise RuntimeError(f"claimed {len(claimed.tasks)} tasks instead of {THREADS}")
    close_database()
    return statistics.quantiles(times[CLAIMS // 6 :], n=4)[0] * 1000
