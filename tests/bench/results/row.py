"""One row of the report, as it was measured: a value of Callboard, and what others reached beside it."""

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tests.bench.results.metric import BEST, Metric
from tests.bench.results.results import Results

CALLBOARD = "callboard"
LIMIT = "limit"
MOST = 1000.0  # the ratio of a limit to nothing at all


@dataclass(frozen=True)
class Row:
    """The ratio to a peer is turned so that 1 or more means: Callboard is at least as good."""

    group: str
    name: str
    title: str
    unit: str
    better: str  # "higher" or "lower"
    values: Mapping[str, float]  # by contender, Callboard included: the median of its turns
    spreads: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # lowest and highest turn
    ratios: Mapping[str, float] = field(default_factory=dict)  # by peer; LIMIT: to the limit
    bars: Mapping[str, float] = field(default_factory=dict)  # by peer, or BEST
    limit: float | None = None
    failed: Mapping[str, str] = field(default_factory=dict)  # by contender: why it has no value
    skipped: Mapping[str, str] = field(default_factory=dict)  # by contender: why it cannot run here
    note: str = ""

    @property
    def callboard(self) -> float | None:
        return self.values.get(CALLBOARD)

    @property
    def peers(self) -> list[str]:
        return [name for name in self.values if name != CALLBOARD]

    def bar_for(self, peer: str) -> float | None:
        """The bar to the best peer is one to each of them."""
        if peer == LIMIT:
            return 1.0
        found = [bar for bar in (self.bars.get(peer), self.bars.get(BEST)) if bar is not None]
        return max(found) if found else None

    def missed(self) -> Iterator[str]:
        """What must hold, and does not."""
        for peer, ratio in self.ratios.items():
            bar = self.bar_for(peer)
            if bar is not None and ratio < bar:
                yield f"{self.name}: {ratio:.2f} x {peer}, must be {bar:.2f}"
        if self.callboard is None and CALLBOARD in self.failed and (self.bars or self.limit is not None):
            yield f"{self.name}: callboard failed: {first_line(self.failed[CALLBOARD])}"

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Row":
        return cls(**data)


def first_line(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else "no reason given"


def make_rows(group: str, metrics: Iterable[Metric], results: Results) -> Iterator[Row]:
    """Rows of all metrics for which anybody has a value or a reason."""
    for metric in metrics:
        turns = results.values.get(metric.name, {})
        failed = {name: why for name, why in results.failures.get(metric.name, {}).items() if not turns.get(name)}
        skipped = results.skipped.get(metric.name, {})
        if not turns and not failed and not skipped:
            continue
        ours = turns.get(CALLBOARD, [])
        ratios = {
            name: ratio
            for name, values in turns.items()
            if name != CALLBOARD and ours and (ratio := _ratio(metric, ours, values)) is not None
        }
        if metric.limit is not None and ours:
            ratio = metric.ratio(statistics.median(ours), metric.limit)
            ratios[LIMIT] = MOST if ratio is None else ratio
        yield Row(
            group=group,
            name=metric.name,
            title=metric.title,
            unit=metric.unit,
            better="higher" if metric.higher_is_better else "lower",
            values={name: statistics.median(values) for name, values in turns.items()},
            spreads={name: (min(values), max(values)) for name, values in turns.items()},
            ratios=ratios,
            bars=dict(metric.bars),
            limit=metric.limit,
            failed=failed,
            skipped=dict(skipped),
            note=results.notes.get(metric.name, ""),
        )


def _ratio(metric: Metric, ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """Turn by turn, and the median of that: a slow minute of the machine is in both of its values."""
    if len(ours) != len(theirs):
        return metric.ratio(statistics.median(ours), statistics.median(theirs))
    found = [metric.ratio(mine, other) for mine, other in zip(ours, theirs, strict=True)]
    return statistics.median(ratio for ratio in found if ratio is not None) if any(found) else None
