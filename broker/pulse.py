"""The pulse: every few seconds it renews the leases of all that this process holds, in one statement, and learns what
has been asked of them."""

import threading
import time
from collections.abc import Mapping

from broker import settlements
from broker.desk import Desk
from broker.execution import Execution
from broker.interrupts import CancelRequested
from state import claims
from state.claims import HeldLease, Settlement
from state.connection import Connection
from state.database import RETRYABLE, get_database
from state.logs import log
from state.settings import get_settings
from state.workers import Identity


class Pulse:
    def __init__(self, identity: Identity, desk: Desk) -> None:
        self._worker = identity.id
        self._desk = desk
        self._every = get_settings().pulse_seconds
        self._renewed = time.monotonic()
        self._now = threading.Event()
        self._stopping = threading.Event()
        self._connection: Connection | None = None
        self._thread = threading.Thread(target=self._run, name="pulse", daemon=True)

    def start(self) -> None:
        self._renewed = time.monotonic()
        self._thread.start()

    def beat_now(self) -> None:
        self._now.set()

    def stop(self) -> None:
        self._stopping.set()
        self._now.set()
        self._thread.join(timeout=5)

    @property
    def silent_seconds(self) -> float:
        """How long ago our leases were last known to be renewed."""
        return time.monotonic() - self._renewed

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._beat()
            except RETRYABLE as failure:
                log.warning("pulse: no answer from the database", worker=self._worker, error=str(failure).strip())
                self._disconnect()
            except Exception:
                log.exception("pulse: unexpected error", worker=self._worker)
                self._disconnect()
            self._now.wait(self._every)
            self._now.clear()
        self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _beat(self) -> None:
        if self._connection is None:
            self._connection = get_database().connect("pulse")
        # Both are read before the question is asked: the answer to a claim may be on its way.
        processed = self._desk.claims_processed
        known = dict(self._desk.executions)
        asked = time.monotonic()
        held = claims.pulse(self._connection, self._worker)
        self._renewed = asked
        self._give_back([lease for lease in held if lease.claim_number <= processed])
        self._stop_lost(known, {(lease.id, lease.epoch) for lease in held})
        for lease in held:
            if lease.cancel_requested is not None:
                self._pass_on(lease, lease.cancel_requested)

    def _give_back(self, held: list[HeldLease]) -> None:
        """What the database thinks we hold and we do not."""
        for lease in held:
            execution = self._desk.executions.get(lease.id)
            if execution is None or execution.claimed.epoch != lease.epoch:
                log.warning("an orphan is given back", task_id=lease.id, epoch=lease.epoch, worker=self._worker)
                self._desk.post(Settlement(lease.id, lease.epoch, "released"))

    def _stop_lost(self, known: Mapping[str, Execution], held: set[tuple[str, int]]) -> None:
        """What we think we hold and the database does not; not what has just been settled."""
        for task_id, execution in known.items():
            if (task_id, execution.claimed.epoch) not in held and not execution.finished:
                self._desk.lose(execution)

    def _pass_on(self, lease: HeldLease, request: str) -> None:
        """To the execution that was meant, not to a later one of the same task."""
        execution = self._desk.executions.get(lease.id)
        if execution is None or execution.claimed.epoch != lease.epoch or execution.finished or execution.settled:
            return
        if execution.request == request:
            return
        execution.request = request
        execution.add_stage("seen")
        if execution.give_back():
            execution.add_stage("stopped")
            self._desk.post(settlements.released(execution.claimed))
        else:
            execution.interrupt(CancelRequested)
            self._desk.note()
