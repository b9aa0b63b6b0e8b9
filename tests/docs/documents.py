"""The documents of the project, and what tests read in them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "tests" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
]

_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]*?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_CELL = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block, and the comment in the line before it."""

    document: Path
    line: int
    mark: str
    language: str
    text: str


def read(name: str) -> str:
    return (ROOT / name).read_text()


def find_blocks(document: Path) -> Iterator[Block]:
    text = document.read_text()
    for found in _BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("text")) + 1
        yield Block(document, line, found["mark"] or "", found["language"], found["text"])


def read_tables(text: str, header: str) -> list[list[str]]:
    """Returns the rows of all tables with this header line, without backticks."""
    rows: list[list[str]] = []
    inside = False
    for line in text.splitlines():
        if line.strip() == header:
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and not line.startswith("|---"):
            rows.append([cell.strip().replace("`", "") for cell in _CELL.split(line)[1:-1]])
    assert rows, f"there is no table {header!r}"
    return rows


def relative(document: Path) -> str:
    return str(document.relative_to(ROOT))
