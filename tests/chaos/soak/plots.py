"""Plots of what was measured, as one SVG: a line for each name, each to its own scale."""

from collections.abc import Mapping
from html import escape

from tests.bench.results.svg import MARK, OURS, TEXT, WIDTH
from tests.chaos.soak.growth import Points

_HEIGHT, _TITLE, _GAP = 80, 22, 14


def draw_lines(title: str, columns: Mapping[str, Points], faults: Points) -> str:
    """`faults`: when they happened; their values do not matter."""
    block = _TITLE + _HEIGHT + _GAP
    shown = {name: points for name, points in columns.items() if len(points) > 1}
    height = block * len(shown) + _GAP
    body = [line for place, each in enumerate(shown.items()) for line in _draw(*each, faults, place * block)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="system-ui, sans-serif" font-size="12" fill="{TEXT}" role="img">\n'
        f"<title>{escape(title)}</title>\n" + "\n".join(body) + "\n</svg>\n"
    )


def _draw(name: str, points: Points, faults: Points, top: float) -> list[str]:
    end = points[-1][0] or 1
    most = max(value for _, value in points) or 1
    floor = top + _TITLE + _HEIGHT

    def x(seconds: float) -> float:
        return WIDTH * seconds / end

    line = " ".join(f"{x(at):.1f},{floor - _HEIGHT * value / most:.1f}" for at, value in points)
    return [
        f'<text x="0" y="{top + 14}">{escape(name)}: 0 to {most:.4g}, now {points[-1][1]:.4g}</text>',
        f'<line x1="0" x2="{WIDTH}" y1="{floor}" y2="{floor}" stroke="{TEXT}" stroke-width="0.5"/>',
        *(f'<circle cx="{x(at):.1f}" cy="{floor}" r="2" fill="{MARK}"/>' for at, _ in faults if at <= end),
        f'<polyline points="{line}" fill="none" stroke="{OURS}" stroke-width="1.2"/>',
    ]
