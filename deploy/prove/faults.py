"""The steps of a run that hurt, and harm nobody else: its own processes, connections to its own database, locks there.
Each method is one step of a schedule, runs in a thread of its own, and writes down what it did before the others can
see it. It returns False if there was nothing to do it to."""

import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any

from deploy.prove.cluster import Cluster
from deploy.prove.journal import Journal
from deploy.prove.program import Program
from deploy.prove.requests import NotAccepted
from deploy.prove.schedule import Step
from state.database.errors import DatabaseError
from state.errors import StateError
from state.proof.harm import cut_connections, find_maintainer, hold_gate, hold_rows

EXPECTED = (DatabaseError, StateError, NotAccepted)  # the database may be away, or a task not in the right status

_LOOK = 0.2  # seconds between two looks
_DEPLOY_SECONDS = 15.0


class Faults:
    def __init__(self, cluster: Cluster, journal: Journal, others: Sequence[object]) -> None:
        """`others` have the steps that are not here."""
        self.errors: list[str] = []
        self.over = threading.Event()
        self.injected = 0  # steps so far
        self.kills = 0
        self.cluster = cluster
        self.journal = journal
        self._doers = (self, *others)

    def do(self, step: Step) -> None:
        doer = next(each for each in self._doers if hasattr(type(each), step.what))
        try:
            done = getattr(doer, step.what)(**step.with_)
        except EXPECTED as refused:
            self.journal.write("refused", step=step.what, error=f"{type(refused).__name__}: {refused}")
        except Exception as error:  # a mistake of the run itself
            self.errors.append(f"{step.what} {step.with_}: {type(error).__name__}: {error}")
        else:
            if done is not False and not step.what.startswith(("submit", "start_")):
                self.injected += 1
                self.journal.write("injected", kind=step.what, fault=doer is self)

    # Processes.

    def _hit(self, program: Program, fault: Callable[[Program], Any]) -> bool:
        """Waits until the program is ready: on a slow machine it may have been hit by another fault a moment ago. What
        is still waiting when the faults are over is left out."""
        with program.lock:
            while not program.ready and not self.over.is_set():
                program.renew_if_ended()
                time.sleep(0.1)
            return program.ready and fault(program) is not False

    def kill_process(self, tree: int, pick: float) -> bool:
        def kill(hit: Program) -> bool:
            workers = hit.worker_pids()
            return bool(workers) and self._kill_one(hit, workers[int(pick * len(workers))])

        return self._hit(self.cluster.trees[tree], kill)

    def kill_maintainer(self) -> bool:
        """It may be hit by another fault before it is its turn; then it is somebody else by now."""
        while not self.over.is_set():
            pid = None
            with suppress(*EXPECTED):
                pid = find_maintainer()
            tree = self.cluster.find_tree(pid) if pid is not None else None
            if pid is not None and tree is not None:

                def kill(hit: Program, pid: int = pid) -> bool:
                    return pid in hit.worker_pids() and self._kill_one(hit, pid)

                if self._hit(tree, kill):
                    return True
            time.sleep(_LOOK)
        return False

    def _kill_one(self, tree: Program, pid: int) -> bool:
        """Dramatiq's master ends the other processes when one has died, and then itself."""
        self._note_kill([pid], "one process")
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        tree.wait_ended(5)
        tree.renew()
        return True

    def _kill_all(self, program: Program, why: str) -> None:
        self._note_kill(program.pids(), why)
        program.renew()

    def _note_kill(self, pids: list[int], why: str) -> None:
        self.kills += 1
        self.journal.write("kill", pids=pids, why=why)

    def kill_tree(self, tree: int) -> bool:
        return self._hit(self.cluster.trees[tree], lambda hit: self._kill_all(hit, "a whole tree"))

    def kill_server(self, server: int) -> bool:
        return self._hit(self.cluster.servers[server], lambda hit: self._kill_all(hit, "a server"))

    def redeploy_tree(self, tree: int) -> bool:
        return self._hit(self.cluster.trees[tree], self._redeploy)

    def redeploy_server(self, server: int) -> bool:
        return self._hit(self.cluster.servers[server], self._redeploy)

    def _redeploy(self, program: Program) -> None:
        self.journal.write("redeploy", program=program.name)
        program.terminate()
        program.wait_ended(_DEPLOY_SECONDS)
        program.renew()

    def stop_tree(self, tree: int, seconds: float) -> bool:
        """Past its lease: others take over, and then it goes on."""
        return self._hit(self.cluster.trees[tree], lambda hit: self._stop("stop", hit, seconds))

    def stall_tree(self, tree: int, seconds: float) -> bool:
        """For less than what it keeps in reserve: nothing may be taken from it."""
        return self._hit(self.cluster.trees[tree], lambda hit: self._stop("stall", hit, seconds))

    def stop_server(self, server: int, seconds: float) -> bool:
        return self._hit(self.cluster.servers[server], lambda hit: self._stop("stop", hit, seconds))

    def _stop(self, what: str, program: Program, seconds: float) -> None:
        pids = program.pids()
        self.journal.write(what, pids=pids, seconds=seconds)
        program.signal(signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            self.journal.write("continue", pids=pids)
            program.signal(signal.SIGCONT)

    # The database.

    def cut_connections(self, share: float) -> bool:
        return self._cut(share, listening=False)

    def cut_listeners(self, share: float) -> bool:
        return self._cut(share, listening=True)

    def _cut(self, share: float, *, listening: bool) -> bool:
        ended = cut_connections(share, listening=listening)
        self.journal.write("cut", ended=ended, listening=listening)
        return ended > 0

    def lock_gate(self, key: str, seconds: float) -> None:
        self._hold("lock", hold_gate(key), seconds)

    def lock_leases(self, seconds: float) -> None:
        """No pulse can renew a lease: the pulse skips locked rows, and succeeds."""
        self._hold("lock leases", hold_rows(["workers", "leases"]), seconds)

    def lock_tasks(self, seconds: float) -> None:
        """No execution can report or end."""
        self._hold("lock tasks", hold_rows(["tasks"]), seconds)

    def _hold(self, what: str, lock: AbstractContextManager[None], seconds: float) -> None:
        with lock:
            self.journal.write(what, seconds=seconds)
            time.sleep(seconds)
