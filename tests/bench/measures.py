"""The measures, their sizes and their bars."""

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from tests.bench.contender import ClaimTimer, Contender


@dataclass(frozen=True)
class Sizes:
    single: int = 1_000
    batch: int = 5_000
    drain: int = 10_000
    latency: int = 100
    memory: int = 100_000
    claim: tuple[int, int, int] = (1_000, 100_000, 1_000_000)
    commits_seconds: int = 5


QUICK = Sizes(
    single=300,
    batch=3_000,
    drain=1_000,
    latency=30,
    memory=5_000,
    claim=(1_000, 5_000, 20_000),
    commits_seconds=1,
)


@dataclass(frozen=True)
class Metric:
    """One row of the table. Ratios are turned so that above 1 Callboard is better."""

    name: str
    title: str
    unit: str
    higher_is_better: bool = False
    bars: Mapping[str, float] = field(default_factory=dict)  # opponent -> least ratio
    limit: float | None = None  # the most that Callboard's own value may be
    baseline: str | None = None  # compared with another metric of Callboard's own instead of with the peers

    def ratio(self, ours: float, theirs: float) -> float:
        return ours / theirs if self.higher_is_better else theirs / ours


@dataclass(frozen=True)
class Measurement:
    """One visit to one contender with a fresh database; yields a value for each of its metrics."""

    keys: tuple[str, ...]  # names it answers to in --only
    metrics: tuple[Metric, ...]
    run: Callable[[Contender], dict[str, float]]
    claims: bool = False  # only for who can time its claims
    turns: int = 1  # how often in a round: many short looks see through a noisy machine better than a long one

    def fits(self, contender: Contender) -> bool:
        return not self.claims or isinstance(contender, ClaimTimer)


BOTH = ("dramatiq-pg", "procrastinate")


def _submit(contender: Contender, *, sizes: Sizes) -> dict[str, float]:
    return {"submit_single": contender.submit_one_rate(sizes.single)}


def _batch(contender: Contender, *, sizes: Sizes) -> dict[str, float]:
    rate = contender.submit_batch_rate(sizes.batch)
    return {} if rate is None else {"submit_batch": rate}


def _drain(contender: Contender, *, sizes: Sizes) -> dict[str, float]:
    drained = contender.drain(sizes.drain)
    if drained.duplicates:
        print(
            f"  {contender.name}: {drained.duplicates} of {drained.count} tasks ran more than once",
            flush=True,
        )
    return {"drain": drained.rate}


def _latency(contender: Contender, *, sizes: Sizes) -> dict[str, float]:
    centiles = statistics.quantiles(contender.idle_latency(sizes.latency), n=100, method="inclusive")
    return {"start_p50": centiles[49], "start_p99": centiles[98]}


def _memory(contender: Contender, *, sizes: Sizes) -> dict[str, float]:
    return {"memory": contender.worker_memory(sizes.memory)}


def _claim(
    contender: Contender, *, name: str, rows: dict[str, int], base: str, base_rows: dict[str, int]
) -> dict[str, float]:
    """Beside the same with a small table, moments before and in the same database."""
    assert isinstance(contender, ClaimTimer)
    values = {base: contender.claim_ms(base_rows)}
    if rows != base_rows:
        values[name] = contender.claim_ms(rows)
    return values


def claim_measurements(sizes: Sizes) -> list[Measurement]:
    """A database of its own for each size, the small ones first."""
    small, middle, large = sizes.claim
    base = f"claim_{small}_queued"
    beside = {"queued": small, "waiting": middle, "scheduled": large}
    cases: list[tuple[str, str, dict[str, int], str | None, float | None]] = [
        (base, f"(d) claim, {small:,} queued", {"queued": small}, None, None),
        (f"claim_{middle}_queued", f"(d) claim, {middle:,} queued", {"queued": middle}, base, None),
        (f"claim_{large}_queued", f"(d) claim, {large:,} queued", {"queued": large}, base, 1.3),
        (f"claim_{large}_finished", f"(d) claim, {large:,} finished", {"queued": small, "completed": large}, base, 1.1),
        ("claim_beside_waiting", f"(d) claim beside {middle:,} waiting, {large:,} scheduled", beside, base, 1.3),
    ]
    return [
        Measurement(
            keys=("d", "claim"),
            metrics=(Metric(name, title, "ms", baseline=baseline, bars={base: 1 / slower} if slower else {}),),
            run=partial(_claim, name=name, rows=rows, base=base, base_rows={"queued": small}),
            claims=True,
        )
        for name, title, rows, baseline, slower in cases
    ]


def catalog(sizes: Sizes) -> list[Measurement]:
    single = Metric("submit_single", "(a) single submits", "1/s", True, bars=dict.fromkeys(BOTH, 1.7))
    batch = Metric("submit_batch", "(a) batched submits", "1/s", True, bars={"procrastinate": 2.0})
    drain = Metric("drain", f"(b) drain of {sizes.drain:,}", "1/s", True, bars=dict.fromkeys(BOTH, 8.0))
    p50 = Metric("start_p50", "(c) idle start, p50", "ms", bars={"dramatiq-pg": 1.0})
    p99 = Metric("start_p99", "(c) idle start, p99", "ms", bars={"dramatiq-pg": 1.0})
    memory = Metric("memory", f"(e) worker, {sizes.memory:,} queued", "MB", limit=80.0)
    return [
        Measurement(("a", "submit"), (single,), partial(_submit, sizes=sizes), turns=5),
        Measurement(("a", "batch"), (batch,), partial(_batch, sizes=sizes), turns=3),
        Measurement(("b", "drain"), (drain,), partial(_drain, sizes=sizes)),
        Measurement(("c", "latency"), (p50, p99), partial(_latency, sizes=sizes), turns=4),
        *claim_measurements(sizes),
        Measurement(("e", "memory"), (memory,), partial(_memory, sizes=sizes)),
    ]


def keys(measurements: list[Measurement]) -> set[str]:
    return {key for measurement in measurements for key in measurement.keys}
