"""The table for people, the `bench` lines for programs."""

import statistics
from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from tests.bench.measures import Metric
from tests.bench.roster import CALLBOARD
from tests.bench.rounds import Results


def number(value: float) -> str:
    """Without separators: programs read it."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def opponents(metric: Metric, names: Sequence[str], results: Results) -> Iterator[tuple[str, str, float, float]]:
    """(label in the line, key of its bar, the opponent's median, ratio)"""
    ours = results.of(metric.name, CALLBOARD)
    if metric.baseline:
        size = metric.baseline.split("_")[1]
        rivals = [(f"{CALLBOARD}_{size}", metric.baseline, results.of(metric.baseline, CALLBOARD))]
    else:
        rivals = [(name, name, results.of(metric.name, name)) for name in names if name != CALLBOARD]
    for label, key, theirs in rivals:
        if ours and theirs:
            yield label, key, statistics.median(theirs), _ratio(metric, ours, theirs)


def _ratio(metric: Metric, ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Turn by turn, and the median of that: a slow minute of the machine is in both of its values."""
    if len(ours) == len(theirs):
        return statistics.median(metric.ratio(mine, other) for mine, other in zip(ours, theirs, strict=True))
    return metric.ratio(statistics.median(ours), statistics.median(theirs))


def lines(metrics: Sequence[Metric], names: Sequence[str], results: Results) -> Iterator[str]:
    for metric in metrics:
        for label, _, theirs, ratio in opponents(metric, names, results):
            ours = results.median(metric.name, CALLBOARD) or 0.0
            yield f"bench {metric.name} {CALLBOARD}={number(ours)} {label}={number(theirs)} ratio={ratio:.2f}"


def _cell(values: Sequence[float], median: float | None) -> str:
    if median is None:
        return "n/a"
    low, high = min(values), max(values)
    spread = f" [dim]{number(low)}-{number(high)}[/dim]" if len(values) > 1 else ""
    return f"{number(median)}{spread}"


def _verdicts(metric: Metric, names: Sequence[str], results: Results) -> str:
    parts = []
    for label, key, _, ratio in opponents(metric, names, results):
        bar = metric.bars.get(key)
        held = "" if bar is None else f" {'ok' if ratio >= bar else 'BELOW'} (bar {bar:.2f})"
        parts.append(f"{ratio:.2f} x {label}{held}")
    ours = results.median(metric.name, CALLBOARD)
    if metric.limit is not None and ours is not None:
        parts.append(f"{'ok' if ours < metric.limit else 'ABOVE'} (under {metric.limit:.0f} {metric.unit})")
    return "\n".join(parts)


def print_table(console: Console, metrics: Sequence[Metric], names: Sequence[str], results: Results) -> None:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("measure", no_wrap=True)
    for name in names:
        table.add_column(name, justify="right")
    table.add_column("ratio", no_wrap=True)
    for metric in metrics:
        if metric.name in results.values:
            cells = [_cell(results.of(metric.name, name), results.median(metric.name, name)) for name in names]
            table.add_row(f"{metric.title}, {metric.unit}", *cells, _verdicts(metric, names, results))
    console.print(table)
    console.print(
        "medians, lowest-highest beside them; ratio: of each turn, their median; > 1: Callboard is better", style="dim"
    )
