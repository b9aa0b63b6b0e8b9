"""Ends the sandboxes that dead workers of this host have left. The pulse says whether any sandbox of the host has not
ended; only then are they looked at. It has a thread of its own, because killing takes time."""

import threading
import time

from broker.execution.sandboxes import get_provider, has_provider
from state.database.errors import TRANSIENT
from state.errors import NotReady
from state.logs import log
from state.sandboxes import OpenSandbox, close_sandbox, list_on_this_host
from state.workers.identity import Identity, Sibling, is_dead
from state.workers.processes import is_gone

_EVERY = 5.0  # seconds between two looks, while there are sandboxes
_SUPERVISOR_SECONDS = 3.0  # for the supervisor to do it, after its worker has died
_WORKER_SECONDS = 10.0  # for the worker to write the end, after the supervisor has ended


class Leftovers:
    def __init__(self, identity: Identity) -> None:
        self._worker = identity.id
        self._found = threading.Event()
        self._stopping = threading.Event()
        self._since: dict[str, float] = {}  # when a sandbox was first seen without its worker or supervisor
        self._look_at = 0.0
        self._thread = threading.Thread(target=self._run, name="leftovers", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def update(self, open_sandboxes: bool) -> None:
        """Takes over the answer of the last pulse."""
        if open_sandboxes:
            self._found.set()

    def stop(self) -> None:
        self._stopping.set()
        self._found.set()
        self._thread.join(timeout=10)

    def _run(self) -> None:
        if not has_provider():
            return
        self._remove_folders()
        while not self._stopping.is_set():
            self._found.wait()
            self._found.clear()
            self._stopping.wait(max(self._look_at - time.monotonic(), 0))
            if self._stopping.is_set():
                return
            try:
                self._look()
            except (NotReady, *TRANSIENT) as failure:
                log.warning("leftovers: no answer from the database", worker=self._worker, error=str(failure).strip())
            except Exception:
                log.exception("leftovers: unexpected error", worker=self._worker)

    def _look(self) -> None:
        found = list_on_this_host()
        now = time.monotonic()
        due = [sandbox for sandbox in found if self._is_due(sandbox, now)]
        self._since = {sandbox.id: self._since[sandbox.id] for sandbox in found if sandbox.id in self._since}
        for sandbox in due:
            self._end(sandbox)
        if due:
            self._remove_folders()
        # Those that are not due yet are soon.
        self._look_at = time.monotonic() + (1.0 if len(self._since) > len(due) else _EVERY)

    def _is_due(self, sandbox: OpenSandbox, now: float) -> bool:
        """Returns whether nobody else will end the sandbox."""
        if sandbox.rebooted:
            return True
        without_worker = self._has_lost_worker(sandbox)
        without_supervisor = is_gone(sandbox.pid, sandbox.start_ticks)
        if not (without_worker or without_supervisor):
            self._since.pop(sandbox.id, None)
            return False
        since = self._since.setdefault(sandbox.id, now)
        if without_supervisor and (without_worker or sandbox.survivors):  # who has noted survivors has given up
            return True
        return now - since >= (_SUPERVISOR_SECONDS if without_worker else _WORKER_SECONDS)

    def _has_lost_worker(self, sandbox: OpenSandbox) -> bool:
        if sandbox.worker_id == self._worker:
            return False
        if sandbox.worker_pid is None:
            return True
        return is_dead(Sibling(sandbox.worker_id, sandbox.worker_pid, sandbox.worker_ticks))

    def _end(self, sandbox: OpenSandbox) -> None:
        killed, survivors = (0, ()) if sandbox.rebooted else get_provider().kill_leftovers(sandbox)
        close_sandbox(sandbox.id, killed, [(process.pid, process.start_ticks) for process in survivors])
        log.warning(
            "a sandbox that was left is ended" if not survivors else "a sandbox that was left cannot be killed",
            sandbox=sandbox.id,
            task_id=sandbox.task_id,
            killed=killed,
            survivors=[process.pid for process in survivors],
            found_by=self._worker,
        )

    def _remove_folders(self) -> None:
        try:
            get_provider().remove_left_folders()
        except Exception:  # the sandboxes that were left must be ended nevertheless
            log.exception("leftovers: folders were not removed", worker=self._worker)
