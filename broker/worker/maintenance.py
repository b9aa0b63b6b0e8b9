"""Maintenance: looks each second, without the database, whether a sibling process is dead, and recovers its tasks at
once; and does the cluster's housekeeping while this process is the elected maintainer."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from state.database.errors import TRANSIENT
from state.errors import NotReady
from state.logs import log
from state.maintenance.housekeeping import Housekeeping, TurnFailed
from state.maintenance.maintainer import LEASE_SECONDS, become_maintainer, resign
from state.workers.registry import Identity, Sibling, is_dead, recover

_EVERY = 1.0
_OTHERS_FIRST = 3.0  # seconds without standing again after a turn that failed: another process may do better

_NO_ANSWER = (NotReady, *TRANSIENT)


class Maintenance:
    def __init__(self, identity: Identity) -> None:
        self._worker = identity.id
        self._siblings: list[Sibling] = []
        self._vacant = False
        self._changing = threading.Lock()
        self._news = threading.Event()
        self._stopping = threading.Event()
        self._elected = False
        self._housekeeping: Housekeeping | None = None  # kept after a turn that failed: what it has observed is true
        self._renewed = 0.0
        self._next_turn = 0.0
        self._stand_after = 0.0
        self._thread = threading.Thread(target=self._run, name="maintenance", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def update(self, siblings: Sequence[Sibling], maintainer_vacant: bool) -> None:
        """What the last pulse has said."""
        with self._changing:
            self._siblings = list(siblings)
            self._vacant = maintainer_vacant
        self._news.set()

    def stop(self) -> None:
        self._stopping.set()
        self._news.set()
        self._thread.join(timeout=10)

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._attempt(self._recover_dead)
            self._attempt(self._stand)
            self._attempt(self._keep_house)
            self._news.wait(self._patience())
            self._news.clear()
        self._attempt(self._resign)

    def _attempt(self, part: Callable[[], None]) -> None:
        try:
            part()
        except _NO_ANSWER as failure:
            log.warning("maintenance: no answer from the database", worker=self._worker, error=str(failure).strip())
        except Exception:
            log.exception("maintenance: unexpected error", worker=self._worker)

    def _patience(self) -> float:
        if not self._elected:
            return _EVERY
        return min(max(self._next_turn - time.monotonic(), 0), _EVERY)

    # The proof.

    def _recover_dead(self) -> None:
        """Those whose tasks somebody holds locked stay among our siblings: the next pulse names them again."""
        with self._changing:
            siblings = self._siblings
        dead = [sibling.id for sibling in siblings if is_dead(sibling)]
        if not dead:
            return
        log.warning("worker processes are dead", workers=dead, found_by=self._worker)
        recover(dead)
        with self._changing:
            self._siblings = [sibling for sibling in self._siblings if sibling.id not in dead]
            self._vacant = True  # perhaps one of them was the maintainer

    # The office.

    def _stand(self) -> None:
        with self._changing:
            wanted, self._vacant = self._vacant, False
        if not wanted or self._elected or time.monotonic() < self._stand_after:
            return
        asked = time.monotonic()
        if become_maintainer(self._worker):
            log.info("this worker is the maintainer", worker=self._worker)
            self._renewed = self._next_turn = asked
            self._housekeeping = self._housekeeping or Housekeeping()
            self._elected = True

    def _keep_house(self) -> None:
        began = time.monotonic()
        if not self._elected or self._housekeeping is None or began < self._next_turn:
            return
        try:
            if began - self._renewed > LEASE_SECONDS:  # we were stopped for a while: by now it may be another one
                self._step_down("its lease has run out", forget=True)
                return
            more = self._housekeeping.do_turn()
            ended = time.monotonic()
            if ended - began > LEASE_SECONDS:
                self._step_down(f"a turn took {ended - began:.1f} s")
            elif become_maintainer(self._worker):
                self._renewed = ended
                self._next_turn = began if more else began + _EVERY
            else:
                self._step_down("another one has taken over")
        except TurnFailed:
            self._step_down("a part of its turn failed")
        except _NO_ANSWER as failure:
            self._step_down(f"no answer from the database: {str(failure).strip()}", forget=True)
        except Exception:
            log.exception("maintenance: unexpected error in a turn", worker=self._worker)
            self._step_down("a turn failed")

    def _step_down(self, reason: str, *, forget: bool = False) -> None:
        """`forget`: while we were cut off or stopped, perhaps everybody was. Silence is counted anew."""
        if forget:
            self._housekeeping = None
        log.warning("this worker is no longer the maintainer", worker=self._worker, reason=reason)
        self._stand_after = time.monotonic() + _OTHERS_FIRST
        self._resign()

    def _resign(self) -> None:
        if self._elected:
            self._elected = False
            with suppress(*_NO_ANSWER):  # otherwise the lease ends by itself
                resign(self._worker)
