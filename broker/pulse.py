"""The pulse: every few seconds it renews the leases of all that this process holds, in one statement, and learns what
has been asked of them."""

import threading
import time

from broker.desk import Desk
from broker.interrupts import CancelRequested
from state import claims
from state.claims import HeldLease, Settlement
from state.database import RETRYABLE, Connection, get_database
from state.logs import log
from state.settings import get_settings
from state.workers import Identity


class Pulse:
    def __init__(self, identity: Identity, desk: Desk) -> None:
        settings = get_settings()
        self._worker = identity.id
        self._desk = desk
        self._every = settings.pulse_seconds
        # Stop one's own work before the lease ends, not when it ends.
        self._silence_allowed = settings.lease_seconds - min(5.0, settings.lease_seconds / 3)
        self._renewed = time.monotonic()
        self._now = threading.Event()
        self._stopping = threading.Event()
        self._connection: Connection | None = None
        self._threads = [
            threading.Thread(target=self._run, name="pulse", daemon=True),
            threading.Thread(target=self._watch, name="fence", daemon=True),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def beat_now(self) -> None:
        self._now.set()

    def stop(self) -> None:
        self._stopping.set()
        self._now.set()
        for thread in self._threads:
            thread.join(timeout=5)

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
        self._stop_lost(known.keys() - {lease.id for lease in held})
        for lease in held:
            if lease.cancel_requested is not None:
                self._pass_on(lease)

    def _give_back(self, held: list[HeldLease]) -> None:
        """What the database thinks we hold and we do not."""
        for lease in held:
            execution = self._desk.executions.get(lease.id)
            if execution is None or execution.claimed.epoch != lease.epoch:
                self._desk.post(Settlement(lease.id, lease.epoch, "released"))

    def _stop_lost(self, missing: set[str]) -> None:
        """What we think we hold and the database does not; not what has just been settled."""
        for task_id in missing:
            execution = self._desk.executions.get(task_id)
            if execution is not None and not execution.finished:
                self._desk.lose(task_id)

    def _pass_on(self, lease: HeldLease) -> None:
        execution = self._desk.executions.get(lease.id)
        if execution is None or execution.finished or execution.stop is not None:
            return
        execution.add_event("control", {"stage": "seen", "request": lease.cancel_requested})
        if execution.give_back():
            self._desk.post(Settlement(lease.id, lease.epoch, "released"))
        else:
            execution.interrupt(CancelRequested)
            self._desk.note()

    def _watch(self) -> None:
        """A thread of its own: the pulse itself may hang in a connection that is dead."""
        while not self._stopping.wait(min(0.5, self._every)):
            if time.monotonic() - self._renewed > self._silence_allowed:
                for task_id in list(self._desk.executions):
                    execution = self._desk.executions.get(task_id)
                    if execution is not None and not execution.finished:
                        self._desk.lose(task_id)
