"""One claim of Callboard, at several sizes of its table: history and backlog must not slow it down."""

from functools import partial

from tests.bench.groups.group import Group, Measurement
from tests.bench.groups.sizes import Sizes
from tests.bench.harness.bench import Bench
from tests.bench.peers.roster import CALLBOARD
from tests.bench.peers.side import Side
from tests.bench.results.metric import Metric


def group(sizes: Sizes) -> Group:
    small, middle, large = sizes.claim
    beside = {"queued": small, "waiting": middle, "scheduled": large}
    cases: list[tuple[str, str, dict[str, int], float | None]] = [
        (f"claim_{middle}_queued", f"{middle:,} queued", {"queued": middle}, None),
        (f"claim_{large}_queued", f"{large:,} queued", {"queued": large}, 1.3),
        (f"claim_{large}_finished", f"{large:,} finished", {"queued": small, "completed": large}, 1.1),
        ("claim_beside_waiting", f"{middle:,} waiting, {large:,} scheduled", beside, 1.3),
    ]

    def measurement(name: str, title: str, rows: dict[str, int], slower: float | None) -> Measurement:
        bars = {_label(small): 1 / slower} if slower else {}
        metric = Metric(name, f"claim of 8 tasks beside {title}", "ms", bars=bars)
        return Measurement((metric,), partial(run, metric=metric, rows=rows))

    def run(bench: Bench, metric: Metric, rows: dict[str, int]) -> None:
        """Beside the same with a small table, moments before and in the same database."""

        def measure(side: Side) -> dict[str, float]:
            bench.results.add(metric.name, _label(small), claim_ms(side, {"queued": small}))
            return {metric.name: claim_ms(side, rows)}

        bench.compete([CALLBOARD], [metric], measure)

    return Group("claim", "Claiming", tuple(measurement(*case) for case in cases))


def _label(small: int) -> str:
    return f"{CALLBOARD}_{small}"


def claim_ms(side: Side, rows: dict[str, int]) -> float:
    side.drive("fill_table", rows)
    side.store.settle(side.url)
    return float(side.drive("claim_ms"))
