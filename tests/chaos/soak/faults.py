"""One fault now and then, at the trees of workers that are there to be hit, at Postgres, and at locks."""

import random
import signal
import time
from pathlib import Path
from typing import Any

import psycopg

from tests.support.eventually import eventually
from tests.support.postgres import TestPostgres
from tests.support.workers import WorkerTree

LEASE, PULSE = 6.0, 1.0
SETTINGS: dict[str, Any] = {
    "actors": "actors,tests.support.journalactors",
    "lease_seconds": LEASE,
    "pulse_seconds": PULSE,
    "grace_seconds": 1,
}


class Faults:
    def __init__(self, server: TestPostgres, folder: Path, trees: int, seed: int) -> None:
        self.done: list[tuple[float, str]] = []
        self._server, self._folder = server, folder
        self._dice = random.Random(seed)
        self._started = 0
        self._begun = time.monotonic()
        self._bag: list[str] = []
        self._trees = [self._start() for _ in range(trees)]
        for tree in self._trees:
            tree.wait_ready()

    def _start(self) -> WorkerTree:
        self._started += 1
        return WorkerTree(self._folder / f"hit-{self._started}.log", 1, 4, **SETTINGS)

    def list_pids(self) -> list[int]:
        """Of the masters of their trees."""
        return [tree.process.pid for tree in self._trees]

    def do_one(self) -> str:
        kinds = ["kill_worker", "stop_worker", "redeploy", "restart_postgres", "lock_rows", "drop_connections"]
        self._bag = self._bag or self._dice.sample(kinds, len(kinds))
        what = self._bag.pop()
        self.done.append((time.monotonic() - self._begun, what))
        place = self._dice.randrange(len(self._trees))
        getattr(self, f"_{what}")(place)
        if self._trees[place].process.poll() is not None:
            self._renew(place)
        return what

    def _renew(self, place: int) -> None:
        self._trees[place].kill()
        self._trees[place] = self._start().wait_ready()

    def _kill_worker(self, place: int) -> None:
        self._trees[place].signal_all(signal.SIGKILL)
        self._trees[place].wait()

    def _stop_worker(self, place: int) -> None:
        self._trees[place].signal_all(signal.SIGSTOP)
        time.sleep(LEASE + 2)
        self._trees[place].signal_all(signal.SIGCONT)

    def _redeploy(self, place: int) -> None:
        self._trees[place].terminate()
        self._trees[place].wait()

    def _restart_postgres(self, _: int) -> None:
        self._server.restart("immediate")

    def _lock_rows(self, _: int) -> None:
        with psycopg.connect(self._server.url("soak")) as connection:
            for table in ("gates", "leases", "workflows"):
                connection.execute(f"SELECT FROM callboard.{table} FOR UPDATE SKIP LOCKED")
            time.sleep(2)
            connection.rollback()

    def _drop_connections(self, _: int) -> None:
        with psycopg.connect(self._server.url("soak"), autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    def close(self) -> None:
        for tree in self._trees:
            tree.signal_all(signal.SIGCONT)
            tree.kill()

    def wait_until_all_ended(self) -> None:
        def unfinished() -> int:
            with psycopg.connect(self._server.url("soak")) as connection:
                row = connection.execute("SELECT count(*) FROM callboard.tasks WHERE finished_at IS NULL").fetchone()
            assert row is not None
            return int(row[0])

        eventually(lambda: unfinished() == 0, timeout=60, every=0.5, what="all tasks have ended")
