"""Maintenance: checks each second, without the database, whether another worker process of this host is dead, and
recovers its tasks at once. Also does the housekeeping of the cluster while this process is the elected maintainer."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from state.database.errors import TRANSIENT
from state.errors import NotReady
from state.logs import log
from state.maintenance.housekeeping import Housekeeping, TurnFailed
from state.maintenance.losses import recover
from state.maintenance.maintainer import LEASE_SECONDS, become_maintainer, resign
from state.workers.identity import Identity, Sibling, is_dead

_EVERY = 1.0
_ELECTION_PAUSE = 3.0  # seconds after a failed turn without becoming maintainer again: another process may do better

_NO_ANSWER = (NotReady, *TRANSIENT)


class Maintenance:
    def __init__(self, identity: Identity) -> None:
        self._worker = identity.id
        self._siblings: list[Sibling] = []
        self._vacant = False
        self._lock = threading.Lock()
        self._updated = threading.Event()
        self._stopping = threading.Event()
        self._elected = False
        self._housekeeping: Housekeeping | None = None  # kept after a failed turn: its observations stay valid
        self._renewed = 0.0
        self._next_turn = 0.0
        self._not_before = 0.0
        self._thread = threading.Thread(target=self._run, name="maintenance", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def update(self, siblings: Sequence[Sibling], maintainer_vacant: bool) -> None:
        """Takes over the answer of the last pulse."""
        with self._lock:
            self._siblings = list(siblings)
            self._vacant = maintainer_vacant
        self._updated.set()

    def stop(self) -> None:
        self._stopping.set()
        self._updated.set()
        self._thread.join(timeout=10)

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._run_part(self._recover_dead)
            self._run_part(self._become_maintainer)
            self._run_part(self._do_turn)
            self._updated.wait(self._get_timeout())
            self._updated.clear()
        self._run_part(self._resign)

    def _run_part(self, part: Callable[[], None]) -> None:
        try:
            part()
        except _NO_ANSWER as failure:
            log.warning("maintenance: no answer from the database", worker=self._worker, error=str(failure).strip())
        except Exception:
            log.exception("maintenance: unexpected error", worker=self._worker)

    def _get_timeout(self) -> float:
        if not self._elected:
            return _EVERY
        return min(max(self._next_turn - time.monotonic(), 0), _EVERY)

    # Processes of this host that are dead.

    def _recover_dead(self) -> None:
        """Recovers the tasks of dead processes. If some of the tasks are locked, the next pulse names their process
        again."""
        with self._lock:
            siblings = self._siblings
        dead = [sibling.id for sibling in siblings if is_dead(sibling)]
        if not dead:
            return
        log.warning("worker processes are dead", workers=dead, found_by=self._worker)
        recover(dead)
        with self._lock:
            self._siblings = [sibling for sibling in self._siblings if sibling.id not in dead]
            self._vacant = True  # perhaps one of them was the maintainer

    # Housekeeping.

    def _become_maintainer(self) -> None:
        with self._lock:
            wanted, self._vacant = self._vacant, False
        if not wanted or self._elected or time.monotonic() < self._not_before:
            return
        asked = time.monotonic()
        if become_maintainer(self._worker):
            log.info("this worker is the maintainer", worker=self._worker)
            self._renewed = self._next_turn = asked
            self._housekeeping = self._housekeeping or Housekeeping()
            self._elected = True

    def _do_turn(self) -> None:
        began = time.monotonic()
        if not self._elected or self._housekeeping is None or began < self._next_turn:
            return
        try:
            if began - self._renewed > LEASE_SECONDS:  # suspended: another one may be elected by now
                self._step_down("its lease has ended", forget=True)
                return
            due = become_maintainer(self._worker)
            if due is None:
                self._step_down("another process has taken over")
                return
            self._renewed = began
            more = self._housekeeping.do_turn(due)
            took = time.monotonic() - began
            if took > LEASE_SECONDS:
                self._step_down(f"a turn took {took:.1f} s")
            else:
                self._next_turn = began if more else began + _EVERY
        except TurnFailed:
            self._step_down("a part of its turn failed")
        except _NO_ANSWER as failure:
            self._step_down(f"no answer from the database: {str(failure).strip()}", forget=True)
        except Exception:
            log.exception("maintenance: unexpected error in a turn", worker=self._worker)
            self._step_down("a turn failed")

    def _step_down(self, reason: str, *, forget: bool = False) -> None:
        """Resigns. With `forget`, drops the observations of other workers: while this process was cut off or
        suspended, all of them may have been."""
        if forget:
            self._housekeeping = None
        log.warning("this worker is no longer the maintainer", worker=self._worker, reason=reason)
        self._not_before = time.monotonic() + _ELECTION_PAUSE
        self._resign()

    def _resign(self) -> None:
        if self._elected:
            self._elected = False
            with suppress(*_NO_ANSWER):  # if there is no answer, the lease ends by itself
                resign(self._worker)
