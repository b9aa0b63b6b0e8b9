"""Brings the database's schema to what this code needs: migrations once each, functions and views when they change."""

import hashlib
from pathlib import Path
from typing import LiteralString

import psycopg

from state.connection import Connection
from state.database import get_database
from state.errors import NotReady
from state.statements import statement
from state.transitions import BIRTHS, MOVES

_HERE = Path(__file__).parent


def migrate() -> list[str]:
    """Applies what is missing, in one transaction, and says what it was. Running it again does nothing."""
    with get_database().connect("migrate", direct=True) as connection, connection.transaction():
        connection.execute(statement("schema_lock"), prepare=False)
        connection.execute(statement("schema_bookkeeping"), prepare=False)
        done = []
        for name, digest, text in _wanted():
            if _is_due(name, digest, _applied(connection)):  # asked each time: a migration may strike views from it
                connection.execute(text, prepare=False)
                connection.execute(statement("schema_applied"), {"name": name, "digest": digest})
                done.append(name)
        return done


def require_current_schema() -> None:
    """Raises NotReady, saying what to do, unless every migration has been applied."""
    try:
        with get_database().pool().connection(timeout=3) as connection:
            applied = _applied(connection)
    except psycopg.errors.UndefinedTable:
        applied = {}
    except (psycopg.OperationalError, TimeoutError) as unreachable:
        raise NotReady(f"The database cannot be reached: {unreachable}") from unreachable
    missing = [name for name, digest, _ in _wanted() if _is_due(name, digest, applied)]
    if missing:
        raise NotReady(f"The database's schema is behind this code (first: {missing[0]}). Run `callboard migrate`.")


def _is_due(name: str, digest: str, applied: dict[str, str]) -> bool:
    """Migrations are applied once; whatever was changed in one since, the next migration has to bring about."""
    return name not in applied or (applied[name] != digest and not name.startswith("migrations/"))


def _wanted() -> list[tuple[str, str, LiteralString]]:
    files = [path for kind in ("migrations", "functions", "views") for path in sorted((_HERE / kind).glob("*.sql"))]
    texts = [(f"{path.parent.name}/{path.stem}", _read(path)) for path in files]
    return [(name, hashlib.sha256(text.encode()).hexdigest(), text) for name, text in texts]


def _read(path: Path) -> LiteralString:
    text = path.read_text()
    moves = sorted(f"'{before}>{after}'" for before, afters in MOVES.items() for after in afters)
    births = sorted(f"'{status}'" for status in BIRTHS)
    return text.replace("/*moves*/", ", ".join(moves)).replace("/*births*/", ", ".join(births))


def _applied(connection: Connection) -> dict[str, str]:
    rows = connection.execute(statement("schema_state")).fetchall()
    return {row["name"]: row["digest"] for row in rows}
