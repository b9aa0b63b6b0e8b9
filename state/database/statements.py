"""Named SQL: `state/sql/<name>.sql` holds one statement, and its name is what a log line says."""

import re
from collections.abc import Iterable
from functools import cache
from itertools import count
from pathlib import Path
from typing import LiteralString

_FOLDER = Path(__file__).parents[1] / "sql"
_FRAGMENT = re.compile(r"/\*(\w+)\*/")  # what several statements share: state/sql/fragments/<name>.sql


@cache
def statement(name: str) -> LiteralString:
    return _FRAGMENT.sub(lambda found: _read(f"fragments/{found[1]}"), _read(name))


def _read(name: str) -> LiteralString:
    # Without what only people read: psycopg parses a statement of more than 4 kB anew at each call.
    lines = (line.strip() for line in (_FOLDER / f"{name}.sql").read_text().splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("--"))


@cache
def parameters_of(name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(re.findall(r"%\((\w+)\)s", statement(name))))


def numbered(name: str, given: Iterable[bool]) -> bytes:
    """The statement with $1, $2, … as Postgres itself knows parameters, and NULL for those that are not given: what
    depends on them alone then costs nothing when it is executed."""
    text: str = statement(name)
    numbers = count(1)
    for each, is_given in zip(parameters_of(name), given, strict=True):
        text = text.replace(f"%({each})s", f"${next(numbers)}" if is_given else "NULL")
    return text.replace("%%", "%").encode()
