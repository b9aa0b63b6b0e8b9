"""Named SQL: `state/sql/<name>.sql` holds one statement. Its name appears in the logs."""

import re
from collections.abc import Iterable
from functools import cache
from itertools import count
from pathlib import Path
from typing import LiteralString

from state.database.fragments import read_code

_FOLDER = Path(__file__).parents[1] / "sql"

UNPREPARED = frozenset({"agent_events_left_out"})
"""Statements whose best plan depends on the values of their filters: Postgres plans them anew for each call."""


@cache
def statement(name: str) -> LiteralString:
    return read_code(_FOLDER / f"{name}.sql")


@cache
def parameters_of(name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(re.findall(r"%\((\w+)\)s", statement(name))))


def numbered(name: str, given: Iterable[bool]) -> bytes:
    """Returns the statement with $1, $2, … for its parameters, and NULL for those that are not given: Postgres then
    drops the conditions that depend on those when it plans the statement."""
    text: str = statement(name)
    numbers = count(1)
    for each, is_given in zip(parameters_of(name), given, strict=True):
        text = text.replace(f"%({each})s", f"${next(numbers)}" if is_given else "NULL")
    return text.replace("%%", "%").encode()
