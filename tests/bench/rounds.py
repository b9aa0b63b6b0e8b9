"""The rounds: contenders take turns, so that a slow minute of the machine hits all of them alike."""

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import psutil
import psycopg

from tests.bench.contender import BenchError, Contender
from tests.bench.measures import Measurement
from tests.bench.server import Server


@dataclass
class Results:
    """values[metric][contender]: one value for each round."""

    values: dict[str, dict[str, list[float]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))
    failures: list[str] = field(default_factory=list)

    def add(self, metric: str, contender: str, value: float) -> None:
        self.values[metric][contender].append(value)

    def of(self, metric: str, contender: str) -> list[float]:
        return self.values.get(metric, {}).get(contender, [])

    def median(self, metric: str, contender: str) -> float | None:
        values = self.of(metric, contender)
        return statistics.median(values) if values else None


def run_rounds(
    server: Server, contenders: Sequence[Contender], measurements: Sequence[Measurement], rounds: int
) -> Results:
    results = Results()
    for number in range(rounds):
        # Another one goes first in each round.
        order = [contenders[(number + place) % len(contenders)] for place in range(len(contenders))]
        for measurement in measurements:
            for contender in [*filter(measurement.fits, order)] * measurement.turns:
                _visit(server, contender, measurement, f"round {number + 1}/{rounds}", results)
    return results


def _visit(server: Server, contender: Contender, measurement: Measurement, where: str, results: Results) -> None:
    with server.database(f"bench_{contender.name.replace('-', '_')}") as url:
        try:
            contender.setup(url)
            values = measurement.run(contender)
        except (BenchError, psutil.Error, psycopg.Error) as error:
            line = f"{measurement.metrics[0].name}: {contender.name} failed: {error}"
            results.failures.append(f"{where} {line}")
            print(f"{where} {line}", flush=True)
            return
        finally:
            contender.close()
    for name, value in values.items():
        results.add(name, contender.name, value)
        print(f"{where} {name} {contender.name} {value:,.1f}", flush=True)
