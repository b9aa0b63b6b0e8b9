"""What a worker process measures. Labels are names that the code declares, never ids."""

from collections.abc import Callable, Iterable, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

from state.database import Row
from state.settings import get_settings
from state.workers.leases import Settlement

_SECONDS = (0.005, 0.02, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600)

CountRunning = Callable[[], int]

REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)

_WAITS = Histogram(
    "callboard_task_wait_seconds",
    "From the moment a task may start to its start.",
    ["actor", "queue"],
    buckets=_SECONDS,
    registry=REGISTRY,
)
_RUNS = Histogram(
    "callboard_task_run_seconds", "How long the code of a task runs.", ["actor"], buckets=_SECONDS, registry=REGISTRY
)
_ENDS = Counter(
    "callboard_attempts",
    "Attempts that have ended: completed, failed, or released without a result.",
    ["actor", "outcome", "error_type"],
    registry=REGISTRY,
)
_PULSES = Histogram(
    "callboard_pulse_delay_seconds",
    "From the moment a pulse is due to its answer. A lease is lost if this gets near CALLBOARD_LEASE_SECONDS.",
    buckets=(0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 20, 30),
    registry=REGISTRY,
)
_BATCHES = Histogram(
    "callboard_settle_batch_size",
    "Ends that are written with one statement.",
    buckets=(1, 2, 5, 10, 20, 50, 100, 200),
    registry=REGISTRY,
)
_THREADS = Gauge("callboard_worker_threads", "Threads for tasks in this process.", registry=REGISTRY)
_COROUTINES = Gauge("callboard_worker_coroutines", "Coroutines for tasks in this process.", registry=REGISTRY)
_RUNNING_COROUTINES = Gauge(
    "callboard_worker_coroutines_running", "Tasks of async actors that run in this process now.", registry=REGISTRY
)
_RUNNING = Gauge("callboard_worker_running", "Tasks whose code runs in this process now.", registry=REGISTRY)


def is_enabled() -> bool:
    return get_settings().metrics_port is not None


def watch_places(threads: int, coroutines: int, count_threads: CountRunning, count_coroutines: CountRunning) -> None:
    _THREADS.set(threads)
    _COROUTINES.set(coroutines)
    _RUNNING.set_function(lambda: count_threads() + count_coroutines())
    _RUNNING_COROUTINES.set_function(count_coroutines)


def note_run(actor: str, seconds: float) -> None:
    if is_enabled():
        _RUNS.labels(actor).observe(seconds)


def note_waits(rows: Iterable[Row]) -> None:
    for row in rows:
        _WAITS.labels(row["actor"], row["queue"]).observe(row["seconds"])


def note_pulse(seconds: float) -> None:
    if is_enabled():
        _PULSES.observe(seconds)


def note_ends(ends: Sequence[Settlement], rows: Iterable[Row]) -> None:
    """`rows`: those of the ends that were written."""
    if not is_enabled() or not ends:
        return
    _BATCHES.observe(len(ends))
    actors = {(row["id"], row["epoch"]): row["actor"] for row in rows}
    for end in ends:
        actor = actors.get((end.id, end.epoch))
        if actor is not None:
            _ENDS.labels(actor, end.outcome, (end.error or {}).get("type", "")).inc()
