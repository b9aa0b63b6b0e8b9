"""Draining a backlog of no-op tasks, with 2 processes of 8 places each."""

from tests.bench.groups.draining import drain_rate
from tests.bench.groups.group import Group, Measurement
from tests.bench.groups.sizes import Sizes
from tests.bench.harness.bench import Bench
from tests.bench.peers.roster import MAKERS
from tests.bench.peers.side import Side
from tests.bench.results.metric import Metric

BARS = {"dramatiq-pg": 8.0, "procrastinate": 8.0, "pgqueuer": 1.3, "dramatiq-redis": 1.5, "oban": 2.5}
# Stock dramatiq-pg stops for good after some 15,000, the others take minutes.
LARGE = ("callboard", "pgqueuer")


def group(sizes: Sizes) -> Group:
    small = Metric("drain", f"drain of {sizes.drain:,}", "1/s", True, BARS)
    large = Metric("drain_large", f"drain of {sizes.drain_large:,}", "1/s", True, {"pgqueuer": 1.2})

    def run(bench: Bench) -> None:
        def measure(side: Side) -> dict[str, float]:
            return {small.name: drain_rate(side, "note", sizes.drain)}

        bench.compete(list(MAKERS), [small], measure)

    def run_large(bench: Bench) -> None:
        def measure(side: Side) -> dict[str, float]:
            return {large.name: drain_rate(side, "note", sizes.drain_large)}

        bench.compete(LARGE, [large], measure)

    return Group("drain", "Draining a backlog", (Measurement((small,), run), Measurement((large,), run_large)))
