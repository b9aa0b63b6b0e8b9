"""Named SQL: `state/sql/<name>.sql` holds one statement, and its name is what a log line says."""

from functools import cache
from pathlib import Path
from typing import LiteralString, cast

_FOLDER = Path(__file__).parent / "sql"


@cache
def statement(name: str) -> LiteralString:
    # The files are part of the program, as literal as a string in it.
    return cast("LiteralString", (_FOLDER / f"{name}.sql").read_text())
