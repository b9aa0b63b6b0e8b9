"""SQL that several files share: `/*name*/` in a statement, a function, a view or a table stands for the fragment of
that name, which is a file in `state/sql/fragments/` or a list made from `state/transitions.py`."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import LiteralString

from state.transitions import FINISHED, LIVE, MOVES, STARTABLE, STATUSES, TERMINAL, Status

_FOLDER = Path(__file__).parents[1] / "sql" / "fragments"
_MARK = re.compile(r"/\*(\w+)\*/")


def read_filled(path: Path) -> LiteralString:
    """Returns a file's text with its fragments filled in."""
    return _fill_in(path.read_text())


def read_code(path: Path) -> LiteralString:
    """Like read_filled, without indentation and lines of comment: psycopg parses a statement of more than 4 kB anew at
    each call."""
    return _fill_in(_strip(path.read_text()))


def _fill_in(text: str) -> LiteralString:
    return _MARK.sub(lambda mark: _fragment(mark[1]), text)


@cache
def _fragment(name: str) -> LiteralString:
    return _lists().get(name) or read_code(_FOLDER / f"{name}.sql")  # a fragment may have others in it


@cache
def _lists() -> dict[str, LiteralString]:
    return {
        "startable": _list_statuses(STARTABLE),
        "live": _list_statuses(LIVE),
        "finished": _list_statuses(FINISHED),
        "terminal": _list_statuses(TERMINAL),
        "moves": _quote(f"{before}>{after}" for before in STATUSES for after in STATUSES if after in MOVES[before]),
    }


def _list_statuses(statuses: frozenset[Status]) -> LiteralString:
    return _quote(status for status in STATUSES if status in statuses)


def _quote(words: Iterable[str]) -> LiteralString:
    return ", ".join(f"'{word}'" for word in words)


def _strip(text: str) -> LiteralString:
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("--"))
