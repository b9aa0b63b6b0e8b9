"""One row of the report, as it is declared: what is measured, and what must hold."""

from collections.abc import Mapping
from dataclasses import dataclass, field

BEST = "best"  # in bars: the best of the peers


@dataclass(frozen=True)
class Metric:
    """Ratios are turned so that above 1 Callboard is better."""

    name: str  # stable, in snake_case: programs read it
    title: str  # for people
    unit: str
    higher_is_better: bool = False
    bars: Mapping[str, float] = field(default_factory=dict)  # peer: the lowest ratio that must hold
    limit: float | None = None  # what Callboard's own value must reach, or must not exceed

    def ratio(self, ours: float, theirs: float) -> float | None:
        upper, lower = (ours, theirs) if self.higher_is_better else (theirs, ours)
        return upper / lower if lower else None
