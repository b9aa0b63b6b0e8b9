"""The pictures in the documents, from the screenshots of the tests: .venv/bin/python -m tests.console.pictures"""

from pathlib import Path
from typing import cast

from PIL import Image

ROOT = Path(__file__).parents[2]
SCREENSHOTS = ROOT / "build" / "console"
PICTURES = ROOT / "docs" / "images"
CHOSEN = {
    "overview": "overview-light-wide",
    "dead-letters": "dead-letters-open-dark-wide",
    "tasks": "tasks-light-wide",
    "task": "task-live-dark-wide",
    "submit": "submit-light-wide",
    "project": "project-dark-wide",
    "workflow": "workflow-waiting-light-wide",
    "gate": "gate-dark-wide",
}
"""By the name of the picture: the screenshot."""


def renew() -> None:
    PICTURES.mkdir(exist_ok=True)
    for name, screenshot in CHOSEN.items():
        with Image.open(SCREENSHOTS / f"{screenshot}.png") as picture:
            reduce_colors(picture.convert("RGB")).save(PICTURES / f"{name}.png", optimize=True)


def reduce_colors(picture: Image.Image) -> Image.Image:
    """To 256: those of surfaces stay exact, and the rest is for what is colorful."""
    frequent = sorted(picture.getcolors(picture.width * picture.height) or [], reverse=True)[:160]
    colorful = picture.quantize(96, Image.Quantize.MAXCOVERAGE).getpalette() or []
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for _, color in frequent for part in cast("tuple[int, ...]", color)] + colorful[: 3 * 96])
    return picture.quantize(palette=palette, dither=Image.Dither.NONE)


if __name__ == "__main__":
    renew()
