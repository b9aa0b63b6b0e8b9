"""From submit to start, for single submits to running workers with nothing to do."""

import os
import statistics
import time

from tests.bench.groups.group import Group, Measurement
from tests.bench.groups.sizes import Sizes
from tests.bench.harness.bench import Bench
from tests.bench.peers.roster import MAKERS
from tests.bench.peers.side import Side
from tests.bench.results.metric import BEST, Metric

QUIET = 1.5  # seconds before the first submit that counts


def group(sizes: Sizes) -> Group:
    p50 = Metric("start_p50", "submit to start, idle workers, p50", "ms", bars={BEST: 1.0})
    p99 = Metric("start_p99", "submit to start, idle workers, p99", "ms", bars={BEST: 1.0})

    def measure(side: Side) -> dict[str, float]:
        side.start_workers()
        side.drive("burst", 20)
        side.wait_stamps(20)
        os.sync()  # what the disk still owes for setting up, and for the contender before
        time.sleep(QUIET)
        side.drive("spaced", sizes.latency)
        side.wait_stamps(20 + 5 + sizes.latency)
        times = [(note.now - note.sent) * 1000 for note in side.stamps.all() if note.task >= 0]
        centiles = statistics.quantiles(times, n=100, method="inclusive")
        return {p50.name: centiles[49], p99.name: centiles[98]}

    def run(bench: Bench) -> None:
        bench.compete(list(MAKERS), [p50, p99], measure)

    return Group("latency", "Submit to start", (Measurement((p50, p99), run, turns=3),))
