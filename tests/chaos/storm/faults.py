"""The steps of a storm that hurt: processes, Postgres, locks, the clock. Each method is one step of a schedule, runs in
a thread of its own, and writes down what it did before the others can see it."""

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import psycopg

from tests.chaos.storm.cluster import EXPECTED, Cluster, Tree
from tests.chaos.storm.schedule import Step
from tests.chaos.storm.work import Work
from tests.support.clock import Clock
from tests.support.journal import Journal, now
from tests.support.postgres import TestPostgres


class Faults:
    def __init__(self, cluster: Cluster, server: TestPostgres, url: str, work: Work, journal: Journal) -> None:
        self.errors: list[str] = []
        self.over = threading.Event()
        self._cluster = cluster
        self._server = server
        self._url = url
        self._work = work
        self._journal = journal
        self._restarting = threading.Lock()
        self._clock_lock = threading.Lock()
        self._clock_shift = 0.0

    def do(self, step: Step) -> None:
        doers = (self, self._work, self._work.structures)
        doer = next(each for each in doers if hasattr(type(each), step.what))
        try:
            getattr(doer, step.what)(**step.with_)
        except EXPECTED as refused:
            self._journal.write("refused", step=step.what, error=f"{type(refused).__name__}: {refused}")
        except Exception as error:  # a mistake of the storm itself
            self.errors.append(f"{step.what} {step.with_}: {type(error).__name__}: {error}")

    # Processes.

    def _hit(self, tree: Tree, fault: Callable[[Tree], None]) -> None:
        """Waits until the tree is ready: on a slow machine it may have been hit by another fault a moment ago. What is
        still waiting when the storm is over is left out."""
        with tree.lock:
            while not tree.ready and not self.over.is_set():
                tree.renew_if_ended()
                time.sleep(0.1)
            if tree.ready:
                fault(tree)

    def kill_process(self, tree: int, pick: float) -> None:
        def kill(hit: Tree) -> None:
            if workers := hit.worker_pids():
                self._kill(hit, workers[int(pick * len(workers))])

        self._hit(self._cluster.trees[tree], kill)

    def kill_maintainer(self) -> None:
        """It may be hit by another fault before it is its turn; then it is somebody else by now."""
        killed = False

        def kill(hit: Tree) -> None:
            nonlocal killed
            if pid is not None and pid in hit.worker_pids():
                killed = True
                self._journal.write("kill maintainer", pid=pid)
                self._kill(hit, pid)

        while not killed and not self.over.is_set():
            pid = self._maintainer()
            tree = self._cluster.tree_of(pid) if pid is not None else None
            if tree is not None:
                self._hit(tree, kill)
            time.sleep(0.2)

    def _kill(self, tree: Tree, pid: int) -> None:
        """Dramatiq's master ends the other processes when one has died, and then itself."""
        self._journal.write("kill", pids=[pid], why="one process")
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        tree.wait_ended(5)
        tree.kill()
        tree.renew()

    def _maintainer(self) -> int | None:
        """Its process; without an elected one, any worker."""
        with suppress(*EXPECTED), psycopg.connect(self._url, autocommit=True) as connection:
            if connection.execute("SELECT to_regclass('callboard.maintainer')").fetchone() == (None,):
                return next((pid for tree in self._cluster.trees for pid in tree.worker_pids()), None)
            row = connection.execute(
                "SELECT w.pid FROM callboard.maintainer m JOIN callboard.workers w ON w.id = m.worker_id"
            ).fetchone()
            return int(row[0]) if row else None
        return None

    def kill_tree(self, tree: int) -> None:
        def kill(hit: Tree) -> None:
            self._journal.write("kill", pids=hit.pids(), why="a whole tree")
            hit.renew()

        self._hit(self._cluster.trees[tree], kill)

    def redeploy_tree(self, tree: int) -> None:
        def redeploy(hit: Tree) -> None:
            self._journal.write("redeploy", tree=tree)
            hit.terminate()
            hit.wait_ended(15)
            hit.kill()
            hit.renew()

        self._hit(self._cluster.trees[tree], redeploy)

    def stop_tree(self, tree: int, seconds: float) -> None:
        """Past its lease: others take over, and then it goes on."""
        self._hit(self._cluster.trees[tree], lambda hit: self._stop("stop", hit, seconds))

    def stall_tree(self, tree: int, seconds: float) -> None:
        """For less than what it keeps in reserve: nothing may be taken from it."""
        self._hit(self._cluster.trees[tree], lambda hit: self._stop("stall", hit, seconds))

    def _stop(self, what: str, tree: Tree, seconds: float) -> None:
        pids = tree.pids()
        self._journal.write(what, pids=pids, seconds=seconds)
        tree.signal(signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            self._journal.write("continue", pids=pids)
            tree.signal(signal.SIGCONT)

    # The database.

    def restart_postgres(self) -> None:
        with self._restarting:
            self._journal.write("restart")
            self._server.restart("immediate")

    def lock_gate(self, key: str, seconds: float) -> None:
        with psycopg.connect(self._url) as connection:
            connection.execute("UPDATE callboard.gates SET paused = paused WHERE key = %s", [key])
            self._journal.write("lock", gate=key, seconds=seconds)
            time.sleep(seconds)
            connection.rollback()

    def lock_leases(self, seconds: float) -> None:
        """No pulse can renew a lease: the pulse skips locked rows, and succeeds."""
        self._lock_rows("lock leases", ["workers", "leases"], seconds)

    def lock_tasks(self, seconds: float) -> None:
        """No execution can report or end."""
        self._lock_rows("lock tasks", ["tasks"], seconds)

    def lock_structures(self, seconds: float) -> None:
        """No step of a workflow and no run of a project can end; all other tasks can."""
        self._lock_rows("lock structures", ["workflows", "projects"], seconds)

    def _lock_rows(self, what: str, tables: list[str], seconds: float) -> None:
        with psycopg.connect(self._url) as connection:
            for table in tables:
                connection.execute(f"SELECT FROM callboard.{table} FOR UPDATE SKIP LOCKED")
            self._journal.write(what, seconds=seconds)
            time.sleep(seconds)
            connection.rollback()

    def insert_gate(self, key: str, seconds: float, commit: bool) -> None:
        """A key that nobody can see yet, and nobody else can insert; and tasks that need it."""
        with psycopg.connect(self._url) as connection:
            connection.execute(
                "INSERT INTO callboard.gates (key, declared_concurrent, max_concurrent) VALUES (%s, 2, 2)", [key]
            )
            self._journal.write("limit", gate=key, value=2, before=0, after=0)
            self._journal.write("uncommitted gate", gate=key, seconds=seconds)
            gates: dict[str, int | None] = {key: 2}
            self._work.submit([{"actor": "journal_slow", "seconds": 0.3, "gates": gates, "target": None}] * 4)
            time.sleep(seconds)
            if commit:
                connection.commit()
            else:
                connection.rollback()

    def step_clock(self, seconds: float) -> None:
        with self._clock_lock, psycopg.connect(self._url, autocommit=True) as connection:
            Clock(connection).advance(self._clock_shift + seconds)
            self._clock_shift += seconds
            self._journal.write("step", seconds=seconds)
            write_clock(connection, self._journal, step=seconds)


def write_clock(connection: psycopg.Connection, journal: Journal, step: float = 0) -> None:
    """How the database's clock and the journal's differ, for times of the database from `since` on: somewhere in what
    the clock has jumped over, so that all before the step are earlier and all after it later."""
    before = now()
    row = connection.execute("SELECT extract(epoch FROM callboard.now())::float8").fetchone()
    assert row is not None
    database = row[0]
    offset = (before + now()) / 2 - database
    journal.write("clock", since=database - step / 2, offset=offset)
