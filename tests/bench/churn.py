"""`python -m tests.bench.churn`: sizes of tables and indexes while workers are kept busy; what grows that should not.

Run by hand, for at least 8 minutes: the first vacuum comes after one or two. Tasks are submitted as fast as two
workers take them: most complete, some are scheduled first, wait at a gate, are canceled, or grow too old, die and are
revived."""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.rows import dict_row

from state import NewTask, cancel, submit_many
from state.errors import IllegalTransition
from state.gates.operations import put_gate
from state.tasks.catalog import load_actors
from state.tasks.deadletters import redrive
from tests.bench.harness.board import Board, open_board
from tests.bench.harness.postgres import Server
from tests.bench.harness.processes import Children

BACKLOG = 2_000  # unfinished tasks that are kept
BATCH = 500
# These hold what is alive or recent, however much has finished.
BOUNDED = (
    "leases", "slots", "reservations", "workers", "maintainer", "actor_pace", "gates", "dedup", "idempotency",
    "finished_counts", "tasks_claim", "tasks_due", "tasks_aging", "tasks_line", "tasks_woken", "tasks_target",
    "tasks_resting", "tasks_fair",
)  # fmt: skip
_SIZES = """
select coalesce(t.relname, c.relname) as of, c.relname as name, pg_relation_size(c.oid) as bytes,
       coalesce(s.n_dead_tup, 0) as dead, coalesce(s.autovacuum_count, 0) as vacuums
from pg_class c left join pg_index i on i.indexrelid = c.oid left join pg_class t on t.oid = i.indrelid
left join pg_stat_user_tables s on s.relid = c.oid
where c.relnamespace = 'callboard'::regnamespace and c.relkind in ('r', 'i')
"""
# Of the tasks that are alive each is found in an index; all of them are counted from the statistics.
_STATES = """
select (select count(*) from callboard.tasks where status = 'queued')
       + (select count(*) from callboard.tasks where status = 'scheduled')
       + (select count(*) from callboard.tasks where status = 'waiting') as live,
       (select n_live_tup from pg_stat_user_tables where relid = 'callboard.tasks'::regclass) as tasks
"""


@dataclass(frozen=True)
class Size:
    of: str
    name: str
    bytes: int
    dead: int
    vacuums: int

    @property
    def bounded(self) -> bool:
        return self.of in BOUNDED or self.name in BOUNDED


def read_sizes(connection: psycopg.Connection[dict[str, object]]) -> dict[str, Size]:
    return {str(row["name"]): Size(**row) for row in connection.execute(_SIZES)}  # type: ignore[arg-type]


def churn(url: str, until: float) -> None:
    """Keeps the backlog until then."""
    put_gate("tenant:narrow", max_concurrent=2)
    with psycopg.connect(url, autocommit=True, row_factory=dict_row) as connection:
        while time.time() < until:
            row = connection.execute(_STATES).fetchone()
            if row is None or row["live"] > BACKLOG - BATCH:
                time.sleep(0.05)
                continue
            for task_id in submit_many(list(_make_tasks()))[:: BATCH // 20]:
                with suppress(IllegalTransition):  # it has ended already
                    cancel(task_id)
            redrive(all=True)


def _make_tasks() -> Iterator[NewTask]:
    for index in range(BATCH):
        match index % 20:
            case 0:
                yield NewTask("note", {"index": index}, delay_seconds=2.0)
            case 1:
                yield NewTask("note", {"index": index}, tenant="narrow")
            case 2:
                yield NewTask("note", {"index": index}, max_age_seconds=0.001)
            case _:
                yield NewTask("note", {"index": index}, target=f"target-{index}" if index % 20 == 3 else None)


def show(label: str, found: dict[str, Size], tasks: int) -> None:
    print(f"\n{label}: {tasks:,} tasks", flush=True)
    print(f"  {'table or index':42} {'MB':>9} {'dead rows':>10} {'vacuums':>8}")
    for size in sorted(found.values(), key=lambda each: (each.of, each.name)):
        if size.bytes > 100_000 or size.bounded:
            mark = " bounded" if size.bounded else ""
            print(f"  {size.name:42} {size.bytes / 1e6:9.2f} {size.dead:10,} {size.vacuums:8}{mark}")


def find_growing(middle: dict[str, Size], end: dict[str, Size]) -> list[str]:
    """Those that should have stayed as they were since the middle of the run, when all have their usual size."""
    return [
        f"{name}: {middle[name].bytes / 1e6:.2f} MB, then {size.bytes / 1e6:.2f} MB"
        for name, size in end.items()
        if size.bounded and name in middle and size.bytes > 1.3 * middle[name].bytes + 500_000
    ]


def run(board: Board, minutes: float) -> list[str]:
    board.start_workers()
    os.environ.update({name: value for name, value in board.environment.items() if name.startswith("CALLBOARD")})
    load_actors()
    looks: list[dict[str, Size]] = []
    with psycopg.connect(board.database_url, autocommit=True, row_factory=dict_row) as connection:
        began = time.time()
        for part in range(5):
            if part:
                churn(board.database_url, began + minutes * 60 * part / 4)
            looks.append(read_sizes(connection))
            row = connection.execute(_STATES).fetchone()
            show(f"after {(time.time() - began) / 60:.1f} minutes", looks[-1], row["tasks"] if row else 0)
    return find_growing(looks[2], looks[4])


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.churn", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--dir", type=Path, help="where the temporary Postgres lives")
    options = parser.parse_args(argv)
    with (
        tempfile.TemporaryDirectory(prefix="callboard-churn-", dir=options.dir) as folder,
        Children(Path(folder)) as children,
        open_board(Server(Path(folder), children), children) as board,
    ):
        growing = run(board, options.minutes)
    print("\n" + ("\n".join(["grows:", *growing]) if growing else "nothing grows that should not"))
    return 1 if growing else 0


if __name__ == "__main__":
    sys.exit(main())
