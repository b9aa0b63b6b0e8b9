"""The dispatcher: the one thread of a worker process that claims tasks and, through the reporter, writes their reports
and ends. No other thread claims or settles, so the reports of a task always come before its end in the history.

The dispatcher listens on the connection that it claims with: no other thread or backend has to wake up between a
notification and the claim."""

import math
import threading
import time
from collections.abc import Sequence

from broker.execution.clocks import boot_time
from broker.execution.execution import EVENT_GAP
from broker.execution.held import HeldTasks
from broker.metrics.waits import Waits
from broker.worker.backoff import Backoff
from broker.worker.capacity import NO_CAPACITY, Capacity
from broker.worker.kinds import Kinds
from broker.worker.reporter import Reporter
from state.database import Connection, Row, connect
from state.database.errors import kind_of
from state.database.listener import Channel, Heard
from state.database.notifier import WORK, notify_tasks
from state.gates.waking import announce_woken, wake_on
from state.logs import log, log_transitions
from state.settings import get_settings
from state.tasks import catalog
from state.workers import leases
from state.workers.leases import ClaimAnswer, ClaimRequest

_RETRY_SECONDS = 0.5
_IDLE_CLAIM = 0.5  # seconds that a task may wait in this process for a thread
_LONGEST_SLEEP = 60.0  # the heartbeat also finds out that there is work


class Dispatcher:
    def __init__(self, held: HeldTasks, queues: Sequence[str], on_hints: Heard) -> None:
        self.retry_share = get_settings().retry_share
        self.waits = Waits()
        self._held = held
        self._queues = queues
        self._kinds = Kinds(queues)
        self._on_hints = on_hints
        self._reporter = Reporter(held)
        self._claim_number = 0
        self._thread_hint = True  # there may be tasks for threads
        self._coroutine_hint = True
        self._not_before = 0.0  # when to claim for the first time after a failover
        self._claim_at = math.inf  # when to claim again because others held locks of gates
        self._contention = Backoff()
        self._freed: set[str] = set()  # gates that tasks have left; woken together with the next claim
        self._wake_at = 0.0  # when to try again to wake them
        self._locked_gates = Backoff()
        self._claiming = True
        self._stopping = False
        self._writing = False
        self._connection: Connection | None = None
        self._listening: Channel | None = None
        self._thread = threading.Thread(target=self._run, name="dispatcher", daemon=True)

    # Called by other threads.

    def start(self) -> None:
        self._thread.start()

    def hint(self) -> None:
        """Tells the dispatcher that there may be something to claim."""
        self._thread_hint = self._coroutine_hint = True
        self._held.wakeup.set()

    def stop_claiming(self) -> None:
        self._claiming = False

    def drain(self, timeout: float) -> bool:
        """Waits until every end is written. Returns False if the time runs out first."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if self._held.is_idle() and not self._writing:
                return True
            time.sleep(0.01)
        return False

    def stop(self) -> None:
        self._claiming = False
        self._stopping = True
        self._held.wakeup.set()
        self._thread.join(timeout=10)

    # Called by the dispatcher's own thread.

    def _run(self) -> None:
        while not self._stopping:
            try:
                connection, listening = self._connect()
                self._held.wakeup.wait(listening, self._get_timeout)
                self._writing = True
                self._leave_gates(self._reporter.write(connection))
                self._held.give_back_idle(_IDLE_CLAIM)
                self._claim(connection)
            except Exception as failure:
                self._recover(failure)
            finally:
                self._writing = False
        if self._connection is not None:
            self._connection.close()

    def _get_timeout(self) -> float:
        """Returns how long to sleep if nothing happens."""
        timeouts = [_LONGEST_SLEEP, self._reporter.get_timeout()]
        if any(execution.has_unwritten for execution in self._held.running()):
            timeouts.append(EVENT_GAP)
        if self._held.unstarted():
            timeouts.append(_IDLE_CLAIM / 2)
        now = time.monotonic()
        if now < self._not_before:
            timeouts.append(self._not_before - now)
        if self._freed:
            timeouts.append(max(self._wake_at - now, 0))
        if self._hinted_capacity():
            timeouts.append(0)
        elif self._claim_at < math.inf and self._capacity():
            timeouts.append(max(self._claim_at - now, 0))
        return min(timeouts)

    def _connect(self) -> tuple[Connection, Channel]:
        if self._connection is None or self._listening is None or self._connection.closed:
            self._listening = None
            self._connection = connect("dispatcher", direct=True)
            self._wait_after_failover(leases.get_wait_after_failover(self._connection))
            self._listening = Channel(self._connection, WORK, self._on_hints, self._held.wakeup.wake_pipe)
        return self._connection, self._listening

    def _wait_after_failover(self, seconds: float) -> None:
        self._not_before = time.monotonic() + seconds
        if seconds > 0:
            log.warning("nothing is claimed yet: another server was the primary", seconds=round(seconds, 1))

    def _recover(self, failure: Exception) -> None:
        """Prepares the next try. Nothing is lost: the reporter keeps everything that it could not write."""
        kind = kind_of(failure)
        if kind in ("again", "reconnect"):
            log.warning("dispatcher: trying again", worker=self._held.worker, error=str(failure).strip())
        else:
            log.error("dispatcher: unexpected error, trying again", worker=self._held.worker, exc_info=failure)
        self._reporter.note_connection_lost()
        self._thread_hint = self._coroutine_hint = True
        if kind != "again" and self._connection is not None:
            self._connection.close()
            self._connection = None
        time.sleep(_RETRY_SECONDS)

    # Claiming.

    def _capacity(self) -> Capacity:
        may_claim = self._claiming and time.monotonic() >= self._not_before
        return Capacity.of(self._held) if may_claim else NO_CAPACITY

    def _hinted_capacity(self) -> Capacity:
        """Returns the capacity of the kinds of places for which there may be tasks."""
        if not (self._thread_hint or self._coroutine_hint):
            return NO_CAPACITY
        return self._capacity().of_kinds(threads=self._thread_hint, coroutines=self._coroutine_hint)

    def _claim(self, connection: Connection) -> None:
        capacity = self._capacity() if time.monotonic() >= self._claim_at else self._hinted_capacity()
        if not capacity:
            self._wake(connection)
            return
        # Before the claim: a hint that is heard while the claim is under way is not lost.
        self._thread_hint = self._thread_hint and not capacity.threads + capacity.ahead
        self._coroutine_hint = self._coroutine_hint and not capacity.coroutines
        self._claim_number += 1
        lease_until = boot_time() + get_settings().lease_seconds
        answer = leases.claim(connection, self._request(capacity), sorted(self._freed))
        self._held.add(answer.tasks, self._claim_number, lease_until)
        if self._kinds.learn(answer.tasks):
            self._thread_hint = self._coroutine_hint = True
        self._note_hints(capacity, sum(catalog.is_async(each.actor) for each in answer.tasks), len(answer.tasks))
        self.waits.add(answer.tasks)
        if not self._claiming:  # stopped while the claim was under way
            self._held.give_back_all()
        self._wake_later({*answer.to_wake, *answer.busy}, locked=bool(answer.busy))
        if answer.tasks or not answer.contended:
            self._contention.reset()
        self._claim_at = time.monotonic() + self._contention.next() if answer.contended else math.inf
        self._announce(answer)

    def _note_hints(self, capacity: Capacity, coroutines: int, tasks: int) -> None:
        """Notes for which kinds of places there may be more: fewer tasks than asked for would be all. A kind for which
        nothing was asked keeps its hint until it has a free place."""
        if capacity.threads + capacity.ahead and tasks - coroutines >= max(capacity.threads, 1):
            self._thread_hint = True
        if capacity.coroutines and coroutines >= capacity.coroutines:
            self._coroutine_hint = True

    def _request(self, capacity: Capacity) -> ClaimRequest:
        return ClaimRequest(
            worker=self._held.worker,
            claim_number=self._claim_number,
            thread_queues=self._kinds.thread_queues,
            coroutine_queues=self._kinds.coroutine_queues,
            threads=capacity.threads,
            coroutines=capacity.coroutines,
            ahead=capacity.ahead,
            short_actors=capacity.short_actors,
            known_actors=self._kinds.actors,
            retry_share=self.retry_share,
            sync_actors=self._kinds.sync_actors,
            async_actors=self._kinds.async_actors,
        )

    def _announce(self, answer: ClaimAnswer) -> None:
        if answer.tasks:
            time.sleep(0)  # lets the threads begin before the claim is announced
            notify_tasks(each.id for each in answer.tasks)
            moved = [{"id": e.id, "actor": e.actor, "epoch": e.epoch, "status": "running"} for e in answer.tasks]
            log_transitions(moved, **{"from": "queued", "worker": self._held.worker})
        self._announce_woken(answer.woken)

    def _leave_gates(self, gates: set[str]) -> None:
        """Notes the gates that tasks have left. The next claim wakes the tasks that wait there, in the same round
        trip."""
        if gates:
            self._freed |= gates
            self._wake_at = 0.0
            self._thread_hint = self._coroutine_hint = True

    def _wake(self, connection: Connection) -> None:
        """Wakes the gates that tasks have left, if no claim does it."""
        if self._freed and time.monotonic() >= self._wake_at:
            woken, busy = wake_on(connection, sorted(self._freed))
            self._wake_later(set(busy), locked=bool(busy))
            self._announce_woken(woken)

    def _wake_later(self, gates: set[str], *, locked: bool) -> None:
        if not locked:
            self._locked_gates.reset()
        self._freed = gates
        self._wake_at = time.monotonic() + self._locked_gates.next() if locked else 0.0

    def _announce_woken(self, woken: Sequence[Row]) -> None:
        announce_woken(woken)
        if not {row["queue"] for row in woken}.isdisjoint(self._queues):
            self.hint()
