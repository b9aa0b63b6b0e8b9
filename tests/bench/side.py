"""A contender as an app module plus the command of its workers: everything else is the same for everybody."""

import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import psycopg

from tests.bench import stamps
from tests.bench.contender import PROCESSES, BenchError, Drain, StalledError
from tests.bench.peer_venv import ROOT
from tests.bench.processes import Children, tail
from tests.bench.stamps import Stamps

STALL = 20.0  # seconds without any progress: it will not finish
IDLE = 1.5  # seconds of quiet before the idle measurement


@dataclass(kw_only=True)
class Side:
    """Implements Contender. One object for each contender, used again and again with fresh databases."""

    name: str
    app: str  # module for tests.bench.driver
    python: Path
    workers: Sequence[Sequence[str]]  # commands; together PROCESSES x THREADS
    unfinished: str  # SQL: how many tasks are not finished yet
    finished: str  # SQL: how many tasks finished well
    children: Children
    folder: Path
    url_variable: str = "BENCH_DATABASE_URL"
    env: Mapping[str, str] = field(default_factory=dict)
    warm_seconds: float = 5.0  # how long the workers run before their memory is read
    _url: str = ""
    _running: list[subprocess.Popen[str]] = field(default_factory=list)

    def setup(self, database_url: str) -> None:
        self._url = database_url
        self._scratch = Path(tempfile.mkdtemp(prefix=f"{self.name}-", dir=self.folder))
        self._stamps = Stamps(self._scratch)
        self.drive("setup")

    def submit_one_rate(self, count: int) -> float:
        return count / float(self.drive("singles", count))

    def submit_batch_rate(self, count: int) -> float | None:
        seconds = self.drive("batches", count)
        return None if seconds is None else count / float(seconds)

    def drain(self, count: int) -> Drain:
        self.drive("fill", "note", count)
        self.settle()
        with psycopg.connect(self._url, autocommit=True) as watch:
            self._start_workers()
            self._wait_stamps(count)
            # The last task has started; now its outcome must be committed. Only here is the database asked.
            self._wait(lambda: not self._number(watch, self.unfinished), f"{count} tasks to be finished", 0.003)
            end = time.time()
            done = self._number(watch, self.finished)
        self._stamps.poll()
        notes = self._stamps.all()
        started = {note.task for note in notes}
        if done != count or started != set(range(count)):
            raise BenchError(f"{done} of {count} finished, {len(started)} distinct started")
        seconds = end - min(note.now for note in notes)
        return Drain(count=count, seconds=seconds, duplicates=len(notes) - count)

    def idle_latency(self, count: int) -> list[float]:
        self._start_workers()
        self.drive("burst", 20)
        self._wait_stamps(20)
        os.sync()  # what the disk still owes for setting up, and for the contender before
        time.sleep(IDLE)
        self.drive("spaced", count)
        self._wait_stamps(20 + 5 + count)
        return [(note.now - note.sent) * 1000 for note in self._stamps.all() if note.task >= 0]

    def worker_memory(self, count: int) -> float:
        self.drive("fill", "nap", count)
        self.settle()
        self._start_workers()
        self._wait(
            lambda: self._stamps.poll() > 0 and len(self._stamps.processes()) >= PROCESSES,
            "both workers to start",
        )
        time.sleep(self.warm_seconds)
        resident = [psutil.Process(pid).memory_info().rss for pid in self._stamps.processes()]
        return statistics.median(resident) / 1e6

    def close(self) -> None:
        for child in self._running:
            self.children.stop(child)
        self._running.clear()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def drive(self, verb: str, *arguments: object) -> Any:
        """Run a verb of tests.bench.driver in a process of this side's Python; its answer."""
        argv = [str(self.python), "-m", "tests.bench.driver", self.app, verb, *map(json.dumps, arguments)]
        output = self.children.run(argv, log=self._scratch / "driver.log", env=self._environment(), timeout=900)
        return json.loads(output.splitlines()[-1])

    def settle(self) -> None:
        """After a fill: what autovacuum would have done by now, and no checkpoint left to come in between."""
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute("vacuum (analyze)")
            connection.execute("checkpoint")

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "CALLBOARD_"))}
        return {
            **kept,
            "PYTHONPATH": str(ROOT),
            stamps.FOLDER_VARIABLE: str(self._scratch),
            "BENCH_DATABASE_URL": self._url,
            self.url_variable: self._url,
            **self.env,
        }

    def _start_workers(self) -> None:
        for command in self.workers:
            log = self._scratch / "workers.log"
            self._running.append(self.children.start(command, log=log, env=self._environment()))

    def _wait_stamps(self, count: int) -> None:
        self._wait(lambda: self._stamps.poll() >= count, f"{count} tasks to start", 0.05)

    def _wait(self, done: Callable[[], bool], what: str, pause: float = 0.05) -> None:
        """Wait for it as long as there is progress."""
        seen, moved = -1, time.monotonic()
        while not done():
            if any(child.poll() is not None for child in self._running):
                raise BenchError(f"a worker ended by itself\n{tail(self._scratch / 'workers.log')}")
            if (now := self._stamps.poll()) != seen:
                seen, moved = now, time.monotonic()
            if time.monotonic() - moved > STALL:
                log = tail(self._scratch / "workers.log", 5)
                raise StalledError(f"stalled after {seen} started, waiting for {what}\n{log}")
            time.sleep(pause)

    @staticmethod
    def _number(connection: psycopg.Connection, query: str) -> int:
        row = connection.execute(query.encode()).fetchone()
        return int(row[0]) if row else 0
