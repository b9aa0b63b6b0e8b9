"""The files that make the schema.

`state/tables/` is the whole schema: a new database is made from it. `state/migrations/` carries the databases of
earlier releases to the same schema, so a change of a table is made in both. Functions, views and the comments of tables
are applied whenever they have changed, the rights of the roles (`state/roles/`) whenever anything has."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, LiteralString

from state.database.fragments import read_filled

Kind = Literal["tables", "migrations", "comments", "functions", "views", "roles"]

_STATE = Path(__file__).parents[1]
_AUTOCOMMIT = "-- autocommit"
_TRIGGER = re.compile(r"^\s*CREATE\s+(OR\s+REPLACE\s+)?(CONSTRAINT\s+)?TRIGGER\b", re.IGNORECASE | re.MULTILINE)
_COMMENT = re.compile(r"^COMMENT ON\b", re.MULTILINE)

# A semicolon in a comment, a string, a quoted name or the body of a function ends no statement.
_TOKEN = re.compile(
    r"""--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"[^"]*"|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$|(?P<end>;)""", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class SchemaFile:
    name: str  # as in functions/claim
    text: LiteralString

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def autocommit(self) -> bool:
        """Whether the file runs statement by statement outside of a transaction, to build indexes concurrently. Each of
        its statements must be repeatable (IF NOT EXISTS), as the file is run again from its start after a failure."""
        return self.text.startswith(_AUTOCOMMIT)

    @property
    def has_triggers(self) -> bool:
        return _TRIGGER.search(self.text) is not None

    def is_due(self, applied: dict[str, str]) -> bool:
        """A migration is never due again: a change of its text reaches a database only with the next migration."""
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
    """Returns the files of a kind in the order in which they are applied."""
    if kind == "comments":
        return tuple(_extract_comments(table) for table in schema_files("tables"))
    return tuple(_read(kind, path) for path in sorted((_STATE / kind).glob("*.sql")))


def newest_migration() -> int:
    return max(migration_number(file.name) for file in schema_files("migrations"))


def migration_number(name: str) -> int:
    """Returns 16 for migrations/0016_slots."""
    return int(name.removeprefix("migrations/").partition("_")[0])


def _read(kind: Kind, path: Path) -> SchemaFile:
    # A migration has no fragments: they may change later, and what it did on other databases may not.
    text = path.read_text() if kind == "migrations" else read_filled(path)
    return SchemaFile(f"{kind}/{path.stem}", text)


def _extract_comments(table: SchemaFile) -> SchemaFile:
    """The COMMENT ON statements of a file of tables. Databases of earlier releases get them as well."""
    comments = [each[found.start() :] for each in table.statements() if (found := _COMMENT.search(each))]
    return SchemaFile(table.name.replace("tables/", "comments/"), "\n".join(comments))
