"""What is measured: one number for each name, every few seconds."""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg

_SIZES = """
SELECT coalesce(whole.relname, c.relname) AS name, sum(pg_table_size(c.oid))::float8 AS heap,
       sum(pg_indexes_size(c.oid))::float8 AS indexes
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_class whole ON whole.oid = pg_partition_root(c.oid)
WHERE n.nspname = 'callboard' AND c.relkind = 'r' GROUP BY 1 ORDER BY 1
"""
_CONNECTIONS = "SELECT count(*)::float8 FROM pg_stat_activity WHERE backend_type = 'client backend'"
_COUNTS = """
SELECT (SELECT count(*) FROM callboard.tasks)::float8 AS tasks,
       (SELECT count(*) FROM callboard.tasks WHERE finished_at IS NULL)::float8 AS unfinished,
       (SELECT count(*) FROM callboard.events)::float8 AS events,
       (SELECT count(*) FROM callboard.attempts)::float8 AS attempts
"""
_MB = 1e6

POSTGRES = "Postgres"
# Of smaps_rollup. What processes share counts in parts, so that a sum is what the machine has less of; but the parts of
# a process grow when another one ends. So a leak is looked for in the memory that is no file's.
_SHARED, _OWN = "Pss", "Anonymous"

_KEPT = ("tasks", "events", "attempts")  # for ever: what counts is what each row takes
_OF_THE_LIVING = (
    "leases", "slots", "reservations", "gates", "gate_starts", "gate_results", "gate_samples", "finished_counts",
    "dedup", "maintainer", "actor_pace",
)  # fmt: skip

Sample = dict[str, float]


class Samples:
    """`groups`: names of processes, each with what finds the pids of those at the top; their descendants count as
    well."""

    def __init__(self, url: str, groups: Mapping[str, Callable[[], Sequence[int]]]) -> None:
        self.rows: list[Sample] = []
        self._url, self._groups = url, groups
        self._begun = time.monotonic()

    def take(self, lags: Sequence[float]) -> None:
        """`lags`: seconds from an event to its arrival at a client, since the last sample."""
        row: Sample = {"seconds": time.monotonic() - self._begun}
        for name, find in self._groups.items():
            field = _SHARED if name == POSTGRES else _OWN
            memory = [_read_memory(process, field) for pid in find() for process in _find_tree(pid)]
            row |= {f"memory of {name}, MB": sum(memory), f"processes of {name}": float(len(memory))}
        if lags:
            ordered = sorted(lags)
            row |= {
                "event lag p50, s": ordered[len(ordered) // 2],
                "event lag p99, s": ordered[len(ordered) * 99 // 100],
            }
        with suppress(psycopg.OperationalError):  # restarted at this moment: the next sample has it
            row |= self._read_database()
        self.rows.append(row)

    def _read_database(self) -> Sample:
        found: Sample = {}
        with psycopg.connect(self._url, autocommit=True) as connection:
            counts = connection.execute(_COUNTS)
            assert counts.description is not None
            [values] = counts.fetchall()
            number = dict(zip([column.name for column in counts.description], values, strict=True))
            sizes = connection.execute(_SIZES).fetchall()
            [(connections,)] = connection.execute(_CONNECTIONS).fetchall()
        found |= {"connections": connections, "unfinished tasks": number["unfinished"], "tasks": number["tasks"]}
        for name, heap, indexes in sizes:
            if name in _KEPT:
                found[f"{name}, bytes a row"] = heap / max(number[name], 1)
                found[f"indexes of {name}, bytes a row"] = indexes / max(number[name], 1)
        living = sum(heap + indexes for name, heap, indexes in sizes if name in _OF_THE_LIVING)
        found["tables of the living, MB"] = living / _MB
        return found | {f"size of {name}, MB": (heap + indexes) / _MB for name, heap, indexes in sizes}

    def columns(self) -> dict[str, list[tuple[float, float]]]:
        """By name: times and values."""
        found: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for row in self.rows:
            for name, value in row.items():
                if name != "seconds":
                    found[name].append((row["seconds"], value))
        return dict(found)


def find_postgres(folder: Path) -> list[int]:
    """The server in this folder. It is restarted, and so never the same."""
    with suppress(OSError, IndexError, ValueError):
        return [int((folder / "data" / "postmaster.pid").read_text().split()[0])]
    return []


def _find_tree(pid: int) -> list[psutil.Process]:
    with suppress(psutil.Error):
        top = psutil.Process(pid)
        return [top, *top.children(recursive=True)]
    return []


def _read_memory(process: psutil.Process, field: str) -> float:
    with suppress(OSError):
        for line in Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) / 1000
    return 0.0
