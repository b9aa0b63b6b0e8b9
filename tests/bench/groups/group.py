"""What a group is made of."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.bench.harness.bench import Bench
from tests.bench.results.metric import Metric


@dataclass(frozen=True)
class Measurement:
    """Measures everybody once in each turn."""

    metrics: tuple[Metric, ...]
    run: Callable[[Bench], None]
    turns: int = 1  # how often in a round: many short looks see through a noisy machine better than a long one
    once: bool = False  # in the first round only: it takes minutes and hardly varies


@dataclass(frozen=True)
class Group:
    name: str
    title: str
    measurements: tuple[Measurement, ...]

    @property
    def metrics(self) -> list[Metric]:
        return [metric for measurement in self.measurements for metric in measurement.metrics]
