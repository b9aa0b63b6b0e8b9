"""Each second: what time has changed, which neighbors are dead, how long the retry lane is."""

import threading
import time
from collections.abc import Sequence

from broker.desk import Desk
from state import claims, workers
from state.claims import Settlement
from state.database import RETRYABLE
from state.gates import sweep_lines
from state.logs import log
from state.pace import note_pace
from state.queues import retry_share
from state.settings import get_settings
from state.sweep import sweep, sweep_leftovers
from state.workers import Identity

_EVERY = 1.0
_IDLE_CLAIM = 1.0  # seconds that a task may wait in this process for a thread
_PACE = 5  # turns
_HOUSEKEEPING = 60


class Sweeper:
    def __init__(self, identity: Identity, desk: Desk, queues: Sequence[str]) -> None:
        self._identity = identity
        self._desk = desk
        self._queues = queues
        self._depth_that_matters = get_settings().retry_critical + 1
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sweeper", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(timeout=10)

    def _run(self) -> None:
        turn = 0
        while not self._stopping.is_set():
            try:
                more = sweep(workers.dead_neighbors(self._identity)).more
                sweep_lines()
                self._desk.retry_share = retry_share(claims.retry_depth(self._queues, self._depth_that_matters))
                self._return_idle_claims()
                if turn % _PACE == 0:
                    note_pace(self._desk.durations.news())
                if turn % _HOUSEKEEPING == 0:
                    sweep_leftovers()
                turn += 1
            except RETRYABLE as failure:
                log.warning("sweep: no answer from the database", error=str(failure).strip())
                more = False
            except Exception:
                log.exception("sweep: unexpected error")
                more = False
            self._stopping.wait(0 if more else _EVERY)

    def _return_idle_claims(self) -> None:
        """Claimed ahead because its actor is quick, and then the threads were not: somebody else may have one free."""
        for execution in list(self._desk.executions.values()):
            if time.monotonic() - execution.claimed_at > _IDLE_CLAIM and execution.give_back():
                self._desk.post(Settlement(execution.claimed.id, execution.claimed.epoch, "released"))
