"""The memory of a worker process at work on a large backlog."""

import statistics
import time

import psutil

from tests.bench.groups.group import Group, Measurement
from tests.bench.groups.sizes import Sizes
from tests.bench.harness.bench import Bench
from tests.bench.peers.roster import MAKERS
from tests.bench.peers.side import Side
from tests.bench.peers.sizes import PROCESSES
from tests.bench.results.metric import Metric


def group(sizes: Sizes) -> Group:
    memory = Metric("memory", f"memory of a worker beside {sizes.memory:,} queued tasks", "MB", limit=80.0)

    def measure(side: Side) -> dict[str, float]:
        side.fill("nap", sizes.memory)
        side.start_workers()
        side.wait(lambda: side.stamps.poll() > 0 and len(side.stamps.processes()) >= PROCESSES, "both workers to start")
        time.sleep(sizes.memory_seconds)
        resident = [psutil.Process(pid).memory_info().rss for pid in side.stamps.processes()]
        return {memory.name: statistics.median(resident) / 1e6}

    def run(bench: Bench) -> None:
        bench.compete(list(MAKERS), [memory], measure)

    return Group("memory", "Memory", (Measurement((memory,), run, once=True),))
