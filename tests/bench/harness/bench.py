"""One run of the bench: what the groups share."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import psutil
import psycopg

from tests.bench.harness.errors import BenchError, Unavailable
from tests.bench.harness.postgres import Server
from tests.bench.harness.processes import Children
from tests.bench.peers.roster import CALLBOARD, Roster, base_of
from tests.bench.peers.side import Side
from tests.bench.results.metric import Metric
from tests.bench.results.results import Results

Values = Mapping[str, float]
FAILURES = (BenchError, psutil.Error, psycopg.Error, OSError)


@dataclass
class Bench:
    server: Server
    children: Children
    folder: Path
    roster: Roster
    results: Results
    peers: Sequence[str]  # those that take part, without the numbers of their variants
    with_callboard: bool = True
    where: str = ""  # for progress: which round, which group
    turn: int = 0
    skipped: set[tuple[str, str]] = field(default_factory=set)

    def compete(
        self,
        names: Sequence[str],
        metrics: Sequence[Metric],
        measure: Callable[[Side], Values],
        **settings: str,
    ) -> None:
        """One turn: each contender gets a fresh database and is measured once. Another one goes first in each turn."""
        own = [CALLBOARD] if self.with_callboard else []
        known = [name for name in names if base_of(name) in {*own, *self.peers}]
        first = self.turn % len(known) if known else 0
        for name in [*known[first:], *known[:first]]:
            shown = CALLBOARD if base_of(name) == CALLBOARD else name
            self.attempt(metrics, shown, partial(self._visit, name, measure, settings))

    def alternate(self, contenders: Mapping[str, tuple[Sequence[Metric], Callable[[], Values]]]) -> None:
        """One turn of contenders that have a way of their own to be measured, such as bare servers."""
        names = [name for name in contenders if name != CALLBOARD or self.with_callboard]
        first = self.turn % len(names) if names else 0
        for name in [*names[first:], *names[:first]]:
            metrics, measure = contenders[name]
            self.attempt(metrics, name, measure)

    def attempt(self, metrics: Sequence[Metric], contender: str, measure: Callable[[], Values]) -> None:
        """Record what it returns, or why it failed, and go on."""
        try:
            values = measure()
        except Unavailable as reason:
            if (metrics[0].name, contender) not in self.skipped:
                self.skipped.add((metrics[0].name, contender))
                print(f"{self.where} {metrics[0].name} {contender} skipped: {reason}", flush=True)
            for metric in metrics:
                self.results.skip(metric.name, contender, str(reason))
            return
        except FAILURES as error:
            print(f"{self.where} {metrics[0].name} {contender} failed: {error}", flush=True)
            for metric in metrics:
                self.results.fail(metric.name, contender, str(error))
            return
        for name, value in values.items():
            self.results.add(name, contender, value)
            print(f"{self.where} {name} {contender} {value:,.2f}", flush=True)

    def _visit(self, name: str, measure: Callable[[Side], Values], settings: Mapping[str, str]) -> Values:
        side = self.roster.side(name, **settings)
        with side.store.database(f"bench_{name.replace('-', '_')}") as url:
            try:
                side.setup(url)
                return measure(side)
            finally:
                side.close()
