"""What a system without work asks of Postgres, by Postgres's own count of transactions."""

import time

import psycopg

from tests.bench.groups.group import Group, Measurement
from tests.bench.groups.sizes import Sizes
from tests.bench.harness.bench import Bench
from tests.bench.harness.board import Board, open_board
from tests.bench.peers.roster import CALLBOARD
from tests.bench.results.metric import Metric

QUIET = 8.0  # seconds until what starting has caused is over; a multiple of no period


def group(sizes: Sizes) -> Group:
    idle = Metric("idle", "idle: two workers and a server, transactions", "1/s", limit=4.0)
    further = Metric("idle_further", "idle: each further worker, transactions", "1/s", limit=0.6)

    def measure(bench: Bench) -> dict[str, float]:
        with open_board(bench.server, bench.children) as board:
            board.start_server()
            board.start_workers(processes=2)
            few = transactions(bench, board, sizes.idle_seconds)
            board.start_workers(processes=sizes.idle_more)
            many = transactions(bench, board, sizes.idle_seconds)
            return {idle.name: few, further.name: (many - few) / sizes.idle_more}

    def run(bench: Bench) -> None:
        bench.alternate({CALLBOARD: ((idle, further), lambda: measure(bench))})

    return Group("idle", "Idle", (Measurement((idle, further), run),))


def transactions(bench: Bench, board: Board, seconds: float) -> float:
    """Each second. Asked from another database, so that asking does not count."""
    time.sleep(QUIET)
    with psycopg.connect(bench.server.url(), autocommit=True) as connection:

        def count() -> int:
            row = connection.execute(
                "select xact_commit + xact_rollback from pg_stat_database where datname = %s",
                [psycopg.conninfo.conninfo_to_dict(board.database_url)["dbname"]],
            ).fetchone()
            assert row
            return int(row[0])

        before, began = count(), time.monotonic()
        time.sleep(seconds)
        return (count() - before) / (time.monotonic() - began)
