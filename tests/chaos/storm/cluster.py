"""The worker trees of a storm. A tree that has ended, for whatever reason, is started anew."""

import os
import signal
import subprocess
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path

import psutil
import psycopg
from psycopg_pool import PoolTimeout

from state.errors import StateError
from tests.chaos.storm.schedule import LEASE, PULSE, TREES
from tests.support.eventually import eventually
from tests.support.journal import Journal
from tests.support.workers import WorkerTree

ACTORS = "actors,tests.support.journalactors"
EXPECTED = (psycopg.Error, PoolTimeout, StateError)  # the database may be away, or a task not in the right status
SHAPES = [(2, 3), (1, 4), (1, 4), (1, 4)]  # processes and threads of each


class Tree:
    """One place for a worker tree. Its lock is held by the fault that is at it."""

    def __init__(self, number: int, folder: Path, faults: Journal) -> None:
        self.number = number
        self.lock = threading.Lock()
        self._folder = folder
        self._faults = faults
        self._generation = 0
        self._workers = self._start()

    def _start(self) -> WorkerTree:
        self._generation += 1
        processes, threads = SHAPES[self.number]
        return WorkerTree(
            self._folder / f"workers-{self.number}-{self._generation}.log",
            processes,
            threads,
            # Every other one as where the kernel ends no process with its leases: there the fence is all there is.
            actors=f"{ACTORS},tests.support.withouttimer" if self.number % 2 else ACTORS,
            lease_seconds=LEASE,
            pulse_seconds=PULSE,
            grace_seconds=1,
        )

    @property
    def ready(self) -> bool:
        started = self._workers.log.read_text().count('"worker ready"')
        return not self.ended and started >= SHAPES[self.number][0]

    @property
    def ended(self) -> bool:
        return self._workers.process.poll() is not None

    def renew(self) -> None:
        """Raises one of EXPECTED when the database is away: then the tree has ended, and somebody else tries again."""
        self._workers.kill()
        self._workers = self._start()

    def renew_if_ended(self) -> None:
        if self.ended:
            self.renew()

    def pids(self) -> list[int]:
        """All of its processes, also those that tasks have started."""
        with suppress(psutil.NoSuchProcess):
            master = psutil.Process(self._workers.process.pid)
            return [master.pid, *(child.pid for child in master.children(recursive=True))]
        return []

    def worker_pids(self) -> list[int]:
        with suppress(psutil.NoSuchProcess):
            return sorted(child.pid for child in self._workers.children() if child.ppid() == self._workers.process.pid)
        return []

    def signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._workers.process.pid, number)

    def terminate(self) -> None:
        with suppress(ProcessLookupError):
            self._workers.terminate()

    def wait_ended(self, timeout: float) -> bool:
        with suppress(subprocess.TimeoutExpired):
            self._workers.wait(timeout)
        return self.ended

    def kill(self) -> None:
        """Everything that is left of it."""
        self._faults.write("clean up", pids=self.pids())
        self._workers.kill()


class Cluster:
    def __init__(self, folder: Path, faults: Journal) -> None:
        self.trees: list[Tree] = []
        self._stopping = threading.Event()
        self._supervisor = threading.Thread(target=self._supervise, name="supervisor", daemon=True)
        try:
            for number in range(TREES):
                self.trees.append(Tree(number, folder, faults))
            for tree in self.trees:
                eventually(partial(getattr, tree, "ready"), timeout=120, what=f"workers {tree.number} ready")
        except BaseException:
            self.close()
            raise
        self._supervisor.start()

    def _supervise(self) -> None:
        while not self._stopping.wait(0.3):
            for tree in self.trees:
                if tree.lock.acquire(blocking=False):
                    try:
                        with suppress(*EXPECTED, subprocess.TimeoutExpired):
                            tree.renew_if_ended()
                    finally:
                        tree.lock.release()

    def tree_of(self, pid: int) -> Tree | None:
        return next((tree for tree in self.trees if pid in tree.worker_pids()), None)

    def close(self) -> None:
        self._stopping.set()
        if self._supervisor.is_alive():
            self._supervisor.join(60)
        for tree in self.trees:
            tree.signal(signal.SIGCONT)
            tree.terminate()
        for tree in self.trees:
            tree.wait_ended(5)
            tree.kill()
