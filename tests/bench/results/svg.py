"""Plots of a group, as SVG: a block of bars for each row, each block to its own scale."""

from collections.abc import Iterator, Sequence
from html import escape

from tests.bench.results.report import number
from tests.bench.results.row import CALLBOARD, LIMIT, Row

WIDTH = 760
LABELS = 190  # room for the names on the left
VALUES = 130  # room for the numbers on the right
BAR = 18
GAP = 6
TITLE = 30
# Readable on a light and on a dark page.
OURS, OTHERS, TEXT, MARK = "#2f7ed8", "#9aa5b1", "#7a8490", "#d9534f"


def draw(title: str, rows: Sequence[Row]) -> str:
    """One picture for all rows that have a value."""
    shown = [row for row in rows if row.values]
    body: list[str] = []
    y = TITLE
    for row in shown:
        block = list(_draw_row(row, y))
        body.extend(block)
        y += TITLE + len(_bars(row)) * (BAR + GAP)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y + GAP}" viewBox="0 0 {WIDTH} {y + GAP}" '
        f'font-family="system-ui, sans-serif" font-size="13" fill="{TEXT}" role="img">\n'
        f"<title>{escape(title)}</title>\n" + "\n".join(body) + "\n</svg>\n"
    )


def _bars(row: Row) -> list[tuple[str, float]]:
    """Callboard first, then the others, the best first."""
    others = sorted(row.peers, key=lambda name: row.values[name], reverse=row.better == "higher")
    return [(name, row.values[name]) for name in [CALLBOARD, *others] if name in row.values]


def _draw_row(row: Row, y: int) -> Iterator[str]:
    bars = _bars(row)
    most = max([value for _, value in bars] + ([row.limit] if row.limit is not None else [])) or 1.0
    room = WIDTH - LABELS - VALUES
    said = f"{row.title}, {row.unit} ({row.better} is better)"
    yield f'<text x="0" y="{y}" font-weight="600">{escape(said)}</text>'
    top = y + GAP + 4
    for place, (name, value) in enumerate(bars):
        at = top + place * (BAR + GAP)
        length = max(1.0, room * value / most)
        color = OURS if name == CALLBOARD else OTHERS
        ratio = f" ({row.ratios[name]:.2f} x)" if name in row.ratios else ""
        yield f'<text x="{LABELS - 8}" y="{at + 13}" text-anchor="end">{escape(name)}</text>'
        yield f'<rect x="{LABELS}" y="{at}" width="{length:.1f}" height="{BAR}" rx="2" fill="{color}"/>'
        yield f'<text x="{LABELS + length + 6:.1f}" y="{at + 13}">{number(value)}{ratio}</text>'
    if row.limit is not None and LIMIT in row.ratios:
        x = LABELS + room * row.limit / most
        bottom = top + len(bars) * (BAR + GAP) - GAP
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top - 3}" y2="{bottom + 3}" stroke="{MARK}" stroke-width="2"/>'
