"""The table for people, the `bench` lines for programs, the JSON that is published."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tests.bench.results.row import CALLBOARD, LIMIT, Row, first_line


@dataclass(frozen=True)
class Report:
    """What one run found, and on what."""

    meta: Mapping[str, str]
    rows: Sequence[Row]

    def as_json(self) -> dict[str, Any]:
        return {"meta": dict(self.meta), "rows": [row.as_json() for row in self.rows]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Report":
        return cls(data["meta"], [Row.from_json(row) for row in data["rows"]])

    def missed(self) -> list[str]:
        return [line for row in self.rows for line in row.missed()]


def number(value: float) -> str:
    """Three digits, without separators: programs read it."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def lines(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        if row.callboard is not None:
            for peer, ratio in row.ratios.items():
                other = row.limit if peer == LIMIT else row.values[peer]
                assert other is not None
                yield (f"bench {row.name} {CALLBOARD}={number(row.callboard)} {peer}={number(other)} ratio={ratio:.2f}")
            if not row.ratios:
                yield f"bench {row.name} {CALLBOARD}={number(row.callboard)}"
        for name, why in row.failed.items():
            yield f"bench {row.name} {name} failed: {first_line(why)}"
        for name, why in row.skipped.items():
            yield f"bench {row.name} {name} skipped: {first_line(why)}"


def judge(row: Row, peer: str) -> str:
    """`1.20 x, MISSED (bar 1.30)` and the like; the ratio alone if there is no bar."""
    bar, ratio = row.bar_for(peer), row.ratios.get(peer)
    if ratio is None:
        return ""
    held = "" if bar is None else "holds" if ratio >= bar else "MISSED"
    if peer == LIMIT:
        return f"{held} (limit {number(row.limit or 0.0)} {row.unit})"
    return f"{ratio:.2f} x, {held} (bar {bar:.2f})" if bar is not None else f"{ratio:.2f} x"


def print_table(console: Console, rows: Sequence[Row]) -> None:
    table = Table(box=box.SIMPLE_HEAD)
    for title, justify in (("measure", "left"), ("contender", "left"), ("value", "right"), ("spread", "right")):
        table.add_column(title, justify=justify, no_wrap=title != "measure")  # type: ignore[arg-type]
    table.add_column("Callboard is")
    for row in rows:
        first = f"{row.title}, {row.unit}"
        for cells in _cells(row):
            table.add_row(escape(first), *map(escape, cells))
            first = ""
        if row.note:
            table.add_row("", "", "", "", escape(row.note))
    console.print(table)
    console.print("medians; ratios: of each turn, their median, above 1 Callboard is better", style="dim")


def _cells(row: Row) -> Iterator[tuple[str, str, str, str]]:
    for name in [CALLBOARD, *row.peers]:
        if name in row.values:
            low, high = row.spreads.get(name, (row.values[name],) * 2)
            spread = f"{number(low)}-{number(high)}" if low != high else ""
            yield name, number(row.values[name]), spread, judge(row, LIMIT if name == CALLBOARD else name)
    for name, why in row.failed.items():
        yield name, "failed", "", first_line(why)
    for name, why in row.skipped.items():
        yield name, "skipped", "", first_line(why)
