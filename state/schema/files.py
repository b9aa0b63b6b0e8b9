"""The files that make the schema: migrations, each applied once, and functions and views, applied when they change."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, LiteralString

from state.transitions import BIRTHS, MOVES

Kind = Literal["migrations", "functions", "views"]

_STATE = Path(__file__).parents[1]
_AUTOCOMMIT = "-- autocommit"
_TRIGGER = re.compile(r"^\s*CREATE\s+(OR\s+REPLACE\s+)?(CONSTRAINT\s+)?TRIGGER\b", re.IGNORECASE | re.MULTILINE)

# Where a semicolon ends no statement: comments, strings, quoted names, bodies of functions.
_TOKEN = re.compile(
    r"""--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"[^"]*"|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$|(?P<end>;)""", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class SchemaFile:
    name: str  # as in migrations/0001_tasks
    text: LiteralString

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def autocommit(self) -> bool:
        """Run statement by statement outside of a transaction, for what builds indexes concurrently. Each of its
        statements must be repeatable (IF NOT EXISTS), as the file is run again from its start after a failure."""
        return self.text.startswith(_AUTOCOMMIT)

    @property
    def has_triggers(self) -> bool:
        return _TRIGGER.search(self.text) is not None

    def is_due(self, applied: dict[str, str]) -> bool:
        """A migration is never due again: whatever was changed in it since, the next migration has to bring about."""
        return self.name not in applied or (
            applied[self.name] != self.digest and not self.name.startswith("migrations/")
        )

    def statements(self) -> Iterator[LiteralString]:
        start = 0
        for token in _TOKEN.finditer(self.text):
            if token["end"]:
                yield self.text[start : token.end()].strip()
                start = token.end()
        if _TOKEN.sub("", self.text[start:]).strip():
            yield self.text[start:].strip() + "\n;"


@cache
def schema_files(kind: Kind) -> tuple[SchemaFile, ...]:
    """In the order in which they are applied."""
    return tuple(SchemaFile(f"{kind}/{path.stem}", _read(path)) for path in sorted((_STATE / kind).glob("*.sql")))


def newest_migration() -> int:
    return max(int(path.name.partition("_")[0]) for path in (_STATE / "migrations").glob("*.sql"))


def _read(path: Path) -> LiteralString:
    text = path.read_text()
    moves = sorted(f"'{before}>{after}'" for before, afters in MOVES.items() for after in afters)
    births = sorted(f"'{status}'" for status in BIRTHS)
    return text.replace("/*moves*/", ", ".join(moves)).replace("/*births*/", ", ".join(births))
