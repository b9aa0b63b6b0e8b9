"""What a run has found so far: values, failures and what could not run."""

from collections import defaultdict
from dataclasses import dataclass, field


@dataclass
class Results:
    """values[metric][contender]: one value for each turn."""

    values: dict[str, dict[str, list[float]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))
    failures: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    skipped: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    notes: dict[str, str] = field(default_factory=dict)  # by metric: what the value alone does not say

    def add(self, metric: str, contender: str, value: float) -> None:
        self.values[metric][contender].append(value)

    def fail(self, metric: str, contender: str, why: str) -> None:
        self.failures[metric][contender] = why

    def skip(self, metric: str, contender: str, why: str) -> None:
        self.skipped[metric][contender] = why

    def of(self, metric: str, contender: str) -> list[float]:
        return self.values.get(metric, {}).get(contender, [])
