"""Named SQL: `state/sql/<name>.sql` holds one statement, and its name is what a log line says."""

from functools import cache
from pathlib import Path
from typing import LiteralString

_FOLDER = Path(__file__).parent / "sql"


@cache
def statement(name: str) -> LiteralString:
    # Our own files are as literal as a string in the program.
    return (_FOLDER / f"{name}.sql").read_text()
