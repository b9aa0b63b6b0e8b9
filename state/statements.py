"""Named SQL: `state/sql/<name>.sql` holds one statement, and its name is what a log line says."""

import re
from functools import cache
from pathlib import Path
from typing import LiteralString

_FOLDER = Path(__file__).parent / "sql"


@cache
def statement(name: str) -> LiteralString:
    # Without what only people read: psycopg parses a statement of more than 4 kB anew at each call.
    lines = (line.strip() for line in (_FOLDER / f"{name}.sql").read_text().splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("--"))


@cache
def numbered(name: str) -> tuple[bytes, tuple[str, ...]]:
    """The statement with $1, $2, … as Postgres itself knows parameters, and their names in that order."""
    names = tuple(dict.fromkeys(re.findall(r"%\((\w+)\)s", statement(name))))
    text: str = statement(name)
    for number, each in enumerate(names, 1):
        text = text.replace(f"%({each})s", f"${number}")
    return text.replace("%%", "%").encode(), names
