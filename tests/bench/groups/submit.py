"""Submits from one process: one by one, each its own commit, and in batches."""

from tests.bench.groups.group import Group, Measurement
from tests.bench.groups.sizes import Sizes
from tests.bench.harness.bench import Bench
from tests.bench.peers.roster import MAKERS
from tests.bench.peers.side import Side
from tests.bench.peers.sizes import BATCH
from tests.bench.results.metric import Metric

BATCHING = ("callboard", "procrastinate", "pgqueuer", "oban")


def group(sizes: Sizes) -> Group:
    bars = {"dramatiq-pg": 1.7, "procrastinate": 1.7, "pgqueuer": 1.1}
    single = Metric("submit_single", "single submits, a commit each", "1/s", True, bars)
    batch = Metric(
        "submit_batch", f"submits in batches of {BATCH:,}", "1/s", True, {"procrastinate": 2.0, "pgqueuer": 0.6}
    )

    def singles(side: Side) -> dict[str, float]:
        return {single.name: sizes.single / float(side.drive("singles", sizes.single))}

    def batches(side: Side) -> dict[str, float]:
        return {batch.name: sizes.batch / float(side.drive("batches", sizes.batch))}

    def run_singles(bench: Bench) -> None:
        bench.compete(list(MAKERS), [single], singles)

    def run_batches(bench: Bench) -> None:
        bench.compete(BATCHING, [batch], batches)

    return Group(
        "submit",
        "Submitting",
        (Measurement((single,), run_singles, turns=5), Measurement((batch,), run_batches, turns=3)),
    )
