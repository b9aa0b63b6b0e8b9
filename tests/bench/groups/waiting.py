"""Async tasks: no-ops, and many that wait at the same time."""

import time

import psutil

from tests.bench.groups.draining import drain_rate
from tests.bench.groups.group import Group, Measurement
from tests.bench.groups.sizes import Sizes
from tests.bench.harness.bench import Bench
from tests.bench.harness.errors import BenchError
from tests.bench.peers.side import Side
from tests.bench.peers.sizes import PROCESSES, WAIT_VARIABLE
from tests.bench.results.metric import Metric

PATIENCE = 8  # how many times as long as the limit is waited: then it has failed


def group(sizes: Sizes) -> Group:
    notes = Metric(
        "async_drain",
        f"drain of {sizes.async_notes:,} async tasks",
        "1/s",
        True,
        {"pgqueuer-100": 0.5, "oban-100": 1.5},
    )
    limit = sizes.wait_seconds + 3.0
    places = f"{PROCESSES} processes of {sizes.wait_places:,}"
    waits = Metric(
        "async_waits",
        f"{sizes.waits:,} tasks that await {sizes.wait_seconds:.0f} s, {places}: all done after",
        "s",
        limit=limit,
    )
    memory = Metric("async_memory", "memory of a worker meanwhile, the largest", "MB", limit=150.0)

    def run_notes(bench: Bench) -> None:
        def measure(side: Side) -> dict[str, float]:
            return {notes.name: drain_rate(side, "anote", sizes.async_notes)}

        bench.compete(["callboard", "pgqueuer-100", "oban-100", "procrastinate-100"], [notes], measure)

    def run_waits(bench: Bench) -> None:
        def measure(side: Side) -> dict[str, float]:
            seconds, megabytes = wait_for_all(side, sizes.waits, limit * PATIENCE)
            return {waits.name: seconds, memory.name: megabytes}

        names = [f"{name}-{sizes.wait_places}" for name in ("callboard", "pgqueuer", "oban", "procrastinate")]
        bench.compete(names, [waits, memory], measure, **{WAIT_VARIABLE: str(sizes.wait_seconds)})

    return Group("async", "Async tasks", (Measurement((notes,), run_notes), Measurement((waits, memory), run_waits)))


def wait_for_all(side: Side, count: int, patience: float) -> tuple[float, float]:
    """Seconds from the submit to the last commit with running workers, and the most memory (MB) of a worker."""
    side.start_workers()
    side.drive("burst", 40)
    side.wait_stamps(40)
    largest = 0
    with side.store.tally(side.url) as tally:
        side.wait(lambda: not tally.unfinished(), "the first tasks to be finished")
        began = time.time()
        side.drive("fill", "wait", count)
        deadline = time.monotonic() + patience
        while side.stamps.poll() < 40 + count or tally.unfinished():
            if time.monotonic() > deadline:
                raise BenchError(f"{side.stamps.poll() - 40} of {count} had started after {patience:.0f} s")
            largest = max(largest, *(psutil.Process(pid).memory_info().rss for pid in side.stamps.processes()))
            time.sleep(0.1)
        return time.time() - began, largest / 1e6
