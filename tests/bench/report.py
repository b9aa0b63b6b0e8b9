"""The table for people, the `bench` lines for programs."""

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
    """(label in the line, key of its bar, the opponent's value, ratio)"""
    ours = results.median(metric.name, CALLBOARD)
    if ours is None:
        return
    if metric.baseline:
        theirs = results.median(metric.baseline, CALLBOARD)
        if theirs is not None:
            size = metric.baseline.split("_")[1]
            yield f"{CALLBOARD}_{size}", metric.baseline, theirs, metric.ratio(ours, theirs)
        return
    for name in names:
        theirs = results.median(metric.name, name)
        if name != CALLBOARD and theirs is not None:
            yield name, name, theirs, metric.ratio(ours, theirs)


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
    console.print("median of the rounds, lowest-highest beside it; ratio > 1: Callboard is better", style="dim")
