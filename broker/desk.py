"""The desk: the one thread of a worker process that writes what its tasks report and how they ended, in batches, and
claims the next ones. Nothing else in the process claims or settles, so what a task said always stands in its history
before its end.

It listens on the connection that it claims with: whoever hears of work, claims it, and no other thread or backend must
wake up in between."""

import random
import threading
import time
from collections.abc import Callable, Sequence

from broker.demand import NO_DEMAND, Demand
from broker.durations import Durations
from broker.execution import EVENT_GAP, Execution
from broker.failures import describe
from broker.interrupts import LeaseGone
from broker.ledger import Ledger
from state import catalog, claims
from state.bell import WORK, ring_tasks, ring_work
from state.claims import ClaimRequest, Settlement
from state.connection import Connection
from state.database import RETRYABLE, get_database
from state.errors import UnknownActor
from state.listener import Ear, Heard, Nudge
from state.logs import log, log_transitions
from state.settings import get_settings
from state.statements import statement

_RETRY_SECONDS = 0.5


class Desk:
    def __init__(
        self, worker: str, queues: Sequence[str], threads: int, deliver: Callable[[Execution], None], heard: Heard
    ) -> None:
        self.worker = worker
        self.executions: dict[str, Execution] = {}
        self.durations = Durations()
        self.plain_busy = 0  # threads that run plain Dramatiq messages
        self.retry_share = get_settings().retry_share
        self.claims_processed = 0
        self._queues = queues
        self._threads = threads
        self._deliver = deliver
        self._heard = heard
        self._claim_number = 0
        self._settlements: list[Settlement] = []
        self._changing = threading.Lock()
        self._nudge = Nudge()
        self._asleep = False
        self._hinted = True
        self._noted = False
        self._next_poll = 0.0
        self._freed: set[str] = set()  # gates that tasks have left; woken together with the next claim
        self._claiming = True
        self._stopping = False
        self._busy = False
        self._connection: Connection | None = None
        self._ear: Ear | None = None
        self._ledger = Ledger(worker, self.executions, self.lose)
        self._thread = threading.Thread(target=self._run, name="desk", daemon=True)

    # Other threads.

    def start(self) -> None:
        self._thread.start()

    def hint(self) -> None:
        """There may be something to claim."""
        with self._changing:
            self._hinted = True
            self._wake_up()

    def note(self) -> None:
        """An execution has something to report."""
        with self._changing:
            self._noted = True
            self._wake_up()

    def post(self, settlement: Settlement) -> None:
        with self._changing:
            self._settlements.append(settlement)
            self._wake_up()

    def stop_claiming(self) -> None:
        with self._changing:
            self._claiming = False

    def drain(self, timeout: float) -> bool:
        """Waits until every posted end is written."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            with self._changing:
                if not self._settlements and not self._busy:
                    return True
            time.sleep(0.01)
        return False

    def stop(self) -> None:
        with self._changing:
            self._claiming = False
            self._stopping = True
            self._wake_up()
        self._thread.join(timeout=10)

    def _wake_up(self) -> None:
        if self._asleep:
            self._nudge.give()

    # The desk's own thread.

    def _run(self) -> None:
        while not (self._stopping and not self._settlements):
            settlements: list[Settlement] = []
            try:
                connection, ear = self._connected()
                self._wait(ear)
                with self._changing:
                    settlements, self._settlements = self._settlements, []
                    self._noted = False
                    self._busy = True
                self._cycle(connection, settlements)
            except RETRYABLE as failure:
                self._lost_connection(settlements, failure)
            except Exception:
                log.exception("desk: unexpected error", worker=self.worker)
                self._lost_connection(settlements, None)
            finally:
                self._busy = False
        if self._connection is not None:
            self._connection.close()

    def _wait(self, ear: Ear) -> None:
        with self._changing:
            if self._something_to_do():
                return
            self._asleep = True
        ear.wait(self._patience())
        self._asleep = False

    def _hear(self, hints: Sequence[str]) -> None:
        self._asleep = False  # and needs no nudge
        self._heard(hints)

    def _something_to_do(self) -> bool:
        return bool(self._settlements) or self._noted or self._stopping or (self._hinted and self._can_claim())

    def _patience(self) -> float:
        """How long to sleep when nothing happens."""
        if any(execution.has_news for execution in list(self.executions.values())):
            return EVENT_GAP
        return max(self._next_poll - time.monotonic(), 0.001) if self._demand() else get_settings().poll_seconds

    def _cycle(self, connection: Connection, settlements: list[Settlement]) -> None:
        ending = {settlement.id for settlement in settlements}
        self._ledger.write_reports(connection, ending)
        if settlements:
            self._freed |= self._ledger.write_ends(connection, settlements)
        self._claim(connection)
        self._wake(connection)

    def _connected(self) -> tuple[Connection, Ear]:
        if self._connection is None or self._ear is None or self._connection.closed:
            self._connection = get_database().connect("desk", direct=True)
            self._ear = Ear(self._connection, WORK, self._hear, self._nudge)
        return self._connection, self._ear

    def _lost_connection(self, settlements: list[Settlement], failure: Exception | None) -> None:
        """Nothing is lost: the ends are written when the database is back, unless somebody else has written them."""
        log.warning("desk: no answer from the database, trying again", worker=self.worker, error=str(failure).strip())
        with self._changing:
            self._settlements = settlements + self._settlements
            self._hinted = self._noted = True
        self._ledger.doubt()
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        time.sleep(_RETRY_SECONDS)

    def lose(self, execution: Execution) -> None:
        """The task is somebody else's: stop its code and write nothing more for it."""
        if execution.lost or execution.settled:
            return
        execution.lost = True
        claimed = execution.claimed
        log.warning("lease lost", task_id=claimed.id, epoch=claimed.epoch, worker=self.worker)
        execution.interrupt(LeaseGone)
        if execution.started_at is None or execution.finished:
            self.forget(execution)

    def forget(self, execution: Execution) -> None:
        """Its thread is free. By now the same task may be here again, with a later epoch: that one stays."""
        if self.executions.get(execution.claimed.id) is execution:
            self.executions.pop(execution.claimed.id, None)
        self.hint()

    # Claiming.

    def _can_claim(self) -> bool:
        """Mostly a thread is free, and then there is nothing to reckon."""
        idle = self._claiming and len(self.executions) + self.plain_busy < self._threads
        return idle or bool(self._demand())

    def _demand(self) -> Demand:
        if not self._claiming:
            return NO_DEMAND
        return Demand.of(list(self.executions.values()), self.plain_busy, self._threads, self.durations)

    def _claim(self, connection: Connection) -> None:
        now = time.monotonic()
        with self._changing:
            demand = self._demand()
            if not demand or not (self._hinted or now >= self._next_poll):
                return
            self._hinted = False
            self._next_poll = now + get_settings().poll_seconds
            self._claim_number += 1
        answer = claims.claim(
            connection,
            ClaimRequest(
                self.worker, self._claim_number, self._queues, demand.free, demand.ahead, demand.short_actors,
                self.retry_share, sorted(self._freed),
            ),
        )  # fmt: skip
        claimed = answer.tasks
        self._freed = set(answer.to_wake)
        for each in claimed:
            self.executions[each.id] = Execution(each)
        self.claims_processed = self._claim_number
        if claimed and len(claimed) >= demand.free:
            self._hinted = True  # there may be more; less than asked for was all
        elif answer.contended:
            self._next_poll = now + random.uniform(0.005, 0.02)  # noqa: S311
        if claimed:
            for each in claimed:
                self._hand_over(self.executions[each.id])
            time.sleep(0)  # lets the threads begin before anything is told about it
            ring_tasks(each.id for each in claimed)
            moved = [{"id": e.id, "actor": e.actor, "epoch": e.epoch, "status": "running"} for e in claimed]
            log_transitions(moved, **{"from": "queued", "worker": self.worker})

    def _wake(self, connection: Connection) -> None:
        """Gates that were freed and have not been woken by a claim of ours."""
        if self._freed:
            woken = connection.execute(statement("wake"), {"gates": sorted(self._freed)}).fetchall()
            self._freed = set()
            if woken:
                ring_work({row["queue"] for row in woken})
                ring_tasks(row["id"] for row in woken)

    def _hand_over(self, execution: Execution) -> None:
        claimed = execution.claimed
        try:
            catalog.get(claimed.actor)
        except UnknownActor as unknown:
            execution.finished = True
            self.post(Settlement(claimed.id, claimed.epoch, "failed", error=describe(unknown)))
        else:
            self._deliver(execution)
