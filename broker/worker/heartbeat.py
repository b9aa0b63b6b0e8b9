"""The heartbeat: every few seconds it renews the leases of all tasks that this process holds, in one statement. The
answer has the requests to stop tasks, whether there is work, and the other worker processes of this host."""

import threading
from collections.abc import Callable, Sequence

from broker.execution.clocks import boot_time
from broker.execution.execution import Execution
from broker.execution.held import HeldTasks
from broker.execution.interrupts import CancelRequested
from broker.metrics.measurements import note_pulse
from broker.worker.dispatcher import Dispatcher
from broker.worker.leftovers import Leftovers
from broker.worker.maintenance import Maintenance
from state.database import Connection, connect
from state.database.errors import kind_of
from state.logs import log
from state.settings import get_settings
from state.tasks.queues import get_retry_share
from state.workers.durations import record_durations
from state.workers.pulse import HeldLease, send_pulse

_DURATIONS_EVERY = 3  # beats between two writes of how long tasks take


class Heartbeat:
    def __init__(
        self,
        held: HeldTasks,
        queues: Sequence[str],
        dispatcher: Dispatcher,
        maintenance: Maintenance,
        leftovers: Leftovers,
        register: Callable[[], None],
    ) -> None:
        settings = get_settings()
        self._held = held
        self._queues = queues
        self._dispatcher = dispatcher
        self._maintenance = maintenance
        self._leftovers = leftovers
        self._register = register
        self._every = settings.pulse_seconds
        self._lease = settings.lease_seconds
        self._depth_that_matters = settings.retry_critical + 1
        self._renewed = boot_time()
        self._due = self._renewed  # when the next pulse should be sent
        self._beats = 0
        self._now = threading.Event()
        self._stopping = threading.Event()
        self._shutting_down = False
        self._connection: Connection | None = None
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def beat_now(self) -> None:
        self._now.set()

    def announce_shutdown(self) -> None:
        self._shutting_down = True
        self.beat_now()

    def stop(self) -> None:
        self._stopping.set()
        self._now.set()
        self._thread.join(timeout=5)

    @property
    def silent_seconds(self) -> float:
        """Seconds since the database last answered."""
        return boot_time() - self._renewed

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._beat()
            except Exception as failure:
                if kind_of(failure) in ("again", "reconnect"):
                    log.warning("heartbeat: no answer", worker=self._held.worker, error=str(failure).strip())
                else:
                    log.error("heartbeat: unexpected error", worker=self._held.worker, exc_info=failure)
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
            self._connection = connect("heartbeat")
        # Both are read before the pulse is sent: the answer to a claim may arrive meanwhile.
        processed = self._held.claims_processed
        known = self._held.executions()
        asked = boot_time()
        pulse = send_pulse(
            self._connection, self._held.worker, self._queues, self._depth_that_matters, stopping=self._shutting_down
        )
        self._renewed = asked
        note_pulse(boot_time() - min(self._due, asked))
        self._due = asked + self._every
        self._held.renew([(lease.id, lease.epoch) for lease in pulse.leases if lease.renewed], asked + self._lease)
        self._give_back_orphans([lease for lease in pulse.leases if lease.claim_number <= processed], known)
        self._stop_lost(known, pulse.leases)
        for lease in pulse.leases:
            if lease.cancel_requested is not None:
                self._request_stop(lease, lease.cancel_requested)
        self._maintenance.update(pulse.siblings, pulse.maintainer_vacant)
        self._leftovers.update(pulse.open_sandboxes)
        if not pulse.registered:
            log.warning("the database did not know this worker", worker=self._held.worker)
            self._register()
        self._dispatcher.retry_share = get_retry_share(pulse.retry_depth)
        if pulse.has_work:
            self._dispatcher.hint()
        self._beats += 1
        self._dispatcher.waits.measure(self._connection)
        if self._beats % _DURATIONS_EVERY == 0:
            record_durations(self._held.durations.take_changes())

    def _give_back_orphans(self, leases: Sequence[HeldLease], known: Sequence[Execution]) -> None:
        """Gives back tasks that only the database takes for ours: the answer to their claim was lost."""
        ours = {execution.key for execution in known}
        for lease in leases:
            if (lease.id, lease.epoch) not in ours and self._held.get((lease.id, lease.epoch)) is None:
                log.warning("an orphan is given back", task_id=lease.id, epoch=lease.epoch, worker=self._held.worker)
                self._held.release_orphan(lease.id, lease.epoch)

    def _stop_lost(self, known: Sequence[Execution], leases: Sequence[HeldLease]) -> None:
        """Stops tasks that have no lease any more. `lose` ignores those that have been settled meanwhile."""
        leased = {(lease.id, lease.epoch) for lease in leases}
        for execution in known:
            if execution.key not in leased:
                self._held.lose(execution)

    def _request_stop(self, lease: HeldLease, request: str) -> None:
        """Passes a request on to the execution that it was made for, not to a later one of the same task."""
        execution = self._held.get((lease.id, lease.epoch))
        if execution is None or execution.state not in ("claimed", "running") or execution.request == request:
            return
        execution.request = request
        execution.add_stage("seen")
        if self._held.give_back(execution):
            execution.add_stage("stopped")
        else:
            execution.interrupt(CancelRequested)
            self._held.wakeup.set()
