"""A worker process: it starts and ends the dispatcher, the heartbeat, the watchdog, the maintenance and
the search for leftovers."""

import os
import threading
import time
from collections.abc import Callable, Sequence

from dramatiq.asyncio import EventLoopThread

from broker.execution import outcomes
from broker.execution.coroutines import Coroutines
from broker.execution.execution import Execution
from broker.execution.failures import LoopBlocked
from broker.execution.held import HeldTasks, set_held_tasks
from broker.execution.interrupts import ShuttingDown, TimeLimitExceeded
from broker.execution.lease_timer import LeaseTimer
from broker.execution.offload import TRANSACTIONS, VERBS, Offload
from broker.metrics.measurements import watch_places
from broker.metrics.server import serve_metrics
from broker.worker.dispatcher import Dispatcher
from broker.worker.heartbeat import Heartbeat
from broker.worker.leftovers import Leftovers
from broker.worker.loop_watch import LoopWatch
from broker.worker.maintenance import Maintenance
from broker.worker.replacement import FAILED, end_process, prepare_replacement, replace_process
from broker.worker.watchdog import STOP_SECONDS, Watchdog
from state.database import close_database, connect, get_database
from state.database.errors import TRANSIENT
from state.database.notifier import CONTROL, EVERYTHING, flush_hints
from state.errors import NotReady
from state.logs import log
from state.maintenance import losses
from state.schema.migration import require_current_schema
from state.settings import get_settings
from state.tasks import catalog
from state.tracing import configure_tracing, flush_traces
from state.workers import registry
from state.workers.identity import Identity
from state.workers.leases import as_json
from state.workers.processes import hide_memory, relieve_collector

_STOP_TIMEOUT = 2.0  # seconds for interrupted code to end
_QUICK_STOP_TIMEOUT = 0.5


class WorkerProcess:
    def __init__(
        self, queues: Sequence[str], threads: int, deliver: Callable[[Execution], None], event_loop: EventLoopThread
    ) -> None:
        hide_memory()
        relieve_collector()
        prepare_replacement()
        self.identity = Identity.of_this_process()
        places = get_settings().coroutines
        self.coroutines = Coroutines(event_loop.loop, Offload(places))
        self.held = HeldTasks(self.identity.id, threads, deliver, LeaseTimer(), places, self.coroutines.start)
        self.coroutines.held = self.held
        set_held_tasks(self.held)
        self.on_open: list[Callable[[], None]] = []  # called when the database answers, before the first claim
        self._queues = queues
        self._dispatcher = Dispatcher(self.held, queues, self._on_hints)
        self._maintenance = Maintenance(self.identity)
        self._leftovers = Leftovers(self.identity)
        self._heartbeat = Heartbeat(
            self.held, queues, self._dispatcher, self._maintenance, self._leftovers, self._register
        )
        self._watchdog = Watchdog(self.held, self.replace)
        self._loop_watch = LoopWatch(self.coroutines, event_loop, self.replace)
        self._opened = False
        self._closing = threading.Event()
        self._replacing = False
        self._shutting_down = False
        self._grace: threading.Thread | None = None
        self._lock = threading.Lock()

    def open(self) -> None:
        """Starts the parts in a thread of its own: the worker waits for a database that is not there yet, or not
        migrated."""
        threading.Thread(target=self._open, name="opening", daemon=True).start()

    def _open(self) -> None:
        while not self._closing.is_set():
            try:
                get_database().size_for(self.held.threads.limit + VERBS + TRANSACTIONS)
                require_current_schema()
                self._register()
                for prepare in self.on_open:
                    prepare()
                break
            except (NotReady, *TRANSIENT) as reason:
                log.warning("worker waits for the database", reason=str(reason).strip())
                self._closing.wait(1)
            except Exception:
                log.exception("worker cannot start, trying again", worker=self.identity.id)
                self._closing.wait(5)
        with self._lock:
            if self._closing.is_set():
                return
            for part in (
                self._maintenance, self._leftovers, self._heartbeat, self._watchdog, self._loop_watch, self._dispatcher
            ):  # fmt: skip
                part.start()
            self._opened = True
        threads, coroutines = self.held.threads, self.held.coroutines
        count_each = (lambda: len(threads.occupied)), (lambda: len(coroutines.occupied))
        watch_places(threads.limit, coroutines.limit, *count_each)
        serve_metrics(self.identity.id)
        configure_tracing("callboard-worker")
        places = {"threads": threads.limit, "coroutines": coroutines.limit}
        log.info("worker ready", worker=self.identity.id, queues=list(self._queues), **places)

    def _register(self) -> None:
        threads, coroutines = self.held.threads.limit, self.held.coroutines.limit
        registry.register(self.identity, self._queues, threads, catalog.list_names(), coroutines=coroutines)

    def _on_hints(self, hints: Sequence[str]) -> None:
        if CONTROL in hints or EVERYTHING in hints:
            self._heartbeat.beat_now()
        if EVERYTHING in hints or not set(hints).isdisjoint(self._queues):
            self._dispatcher.hint()

    # Shutdown.

    def begin_shutdown(self) -> None:
        """Stops claiming, gives back the tasks that no thread has started, and gives running code the grace time to
        finish."""
        self._shutting_down = True
        self._stop_starting()
        self._heartbeat.announce_shutdown()
        self._grace = threading.Thread(target=self._end_grace, name="grace", daemon=True)
        self._grace.start()

    def _end_grace(self) -> None:
        if self._wait_for(self.held.running(), get_settings().grace_seconds):
            return
        running = self.held.running()
        for execution in running:
            execution.interrupt(ShuttingDown)
        log.info("interrupted at the end of the grace time", tasks=[execution.claimed.id for execution in running])
        if not self._wait_for(self.held.running(), _STOP_TIMEOUT):
            self.replace("code does not stop at the end of the grace time")

    def close(self) -> None:
        if self._grace is not None:
            self._grace.join()  # Dramatiq has waited for its threads, not for coroutines
        with self._lock:
            if self._replacing:
                threading.Event().wait()  # another thread ends the process in a moment
            self._closing.set()
        if self._opened:
            drained = self._dispatcher.drain(timeout=10)
            for part in (
                self._dispatcher, self._maintenance, self._leftovers, self._loop_watch, self._watchdog, self._heartbeat
            ):  # fmt: skip
                part.stop()
            if drained:  # otherwise another process finds this one gone and recovers its tasks
                self._deregister()
        self.coroutines.offload.close()
        flush_traces()
        close_database()

    # Replacement, because code does not stop.

    def replace(self, reason: str, *, quick: bool = False) -> None:
        """Replaces this process by a new one, or ends it if it is shutting down. Tasks whose code runs until the end
        are recovered when the code is certainly gone."""
        with self._lock:
            if self._replacing or self._closing.is_set():
                return
            self._replacing = True
        log.error("this process is replaced", reason=reason, worker=self.identity.id)
        threading.Thread(target=self._replace, args=(quick,), name="replacement", daemon=True).start()

    def _replace(self, quick: bool) -> None:
        """Ends this process in any case: it starts nothing any more, and would stay for ever."""
        try:
            self._end_and_replace(quick)
        except BaseException:
            log.exception("this process cannot be replaced and ends", worker=self.identity.id)
        os._exit(FAILED)

    def _end_and_replace(self, quick: bool) -> None:
        timeout = _QUICK_STOP_TIMEOUT if quick else _STOP_TIMEOUT
        self._stop_starting()
        others = [execution for execution in self.held.running() if not _is_stuck(execution)]
        for execution in others:
            if execution.stop is None:
                execution.interrupt(ShuttingDown)
        self._wait_for(others, timeout)
        if self._heartbeat.silent_seconds < 2 * get_settings().pulse_seconds + 1:  # otherwise there is no answer
            writing = threading.Thread(target=self._write_ends, args=(timeout,), daemon=True)
            writing.start()
            writing.join(2 * timeout)
        if self._shutting_down:
            end_process(self.identity.id)
        replace_process()

    def _write_ends(self, timeout: float) -> None:
        """Writes the ends of tasks, and how to end those whose code still runs. All other tasks are recovered as
        lost."""
        try:
            abandoned = [execution for execution in self.held.running() if self.held.abandon(execution)]
            on_loss = {execution.key: _make_on_loss(execution) for execution in abandoned}
            with connect("replacement") as connection:
                losses.set_on_loss(connection, self.identity.id, on_loss)
            self._dispatcher.drain(timeout=timeout)
            if self.held.is_idle():
                self._deregister()
        except Exception as failure:
            log.warning("the ends of tasks could not be written before the replacement", error=str(failure).strip())

    # Used by both.

    def _stop_starting(self) -> None:
        self._dispatcher.stop_claiming()
        self.held.give_back_all()

    def _wait_for(self, executions: Sequence[Execution], seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        waiting_for = {execution.key for execution in executions}
        while time.monotonic() < deadline:
            if not waiting_for & {execution.key for execution in self.held.running()}:
                return True
            time.sleep(0.02)
        return not waiting_for & {execution.key for execution in self.held.running()}

    def _deregister(self) -> None:
        try:
            registry.mark_stopped([self.identity.id])
        except (NotReady, *TRANSIENT):
            log.warning("no answer from the database: others will find this worker gone", worker=self.identity.id)
        flush_hints()


def _is_stuck(execution: Execution) -> bool:
    return execution.stop is not None and time.monotonic() - execution.stop_requested_at >= STOP_SECONDS


def _make_on_loss(execution: Execution) -> dict[str, object]:
    """Returns the report and the settlement that another process writes when it finds this one gone."""
    claimed = execution.claimed
    if execution.blocks_loop_at is not None:
        end = outcomes.failed(claimed, LoopBlocked(f"It blocked the event loop at {execution.blocks_loop_at}."))
    elif execution.request is None and time.monotonic() >= execution.deadline:
        end = outcomes.failed(claimed, TimeLimitExceeded("The code did not stop; its process was replaced."))
    else:
        end = outcomes.released(claimed)
    if execution.request is not None:
        execution.add_stage("stopped", how="its process was replaced")
    report = execution.take_report(time.monotonic(), final=True)
    return {"report": as_json(report) if report else None, "settlement": as_json(end)}


_current: WorkerProcess | None = None


def set_current(process: WorkerProcess | None) -> None:
    global _current
    _current = process


def get_current() -> WorkerProcess:
    if _current is None:
        raise RuntimeError("Tasks run in worker processes: start them with `dramatiq actors`.")
    return _current
