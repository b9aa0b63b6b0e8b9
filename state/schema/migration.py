"""Brings the database's schema to what this code needs, while workers and servers run on.

Each migration and each view is a transaction of its own; functions change all at once. A step that waits for a lock
gives up after two seconds, so that nothing waits behind it for longer, and is tried again. After an interruption the
next run goes on."""

import random
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql

from state.database.connection import Connection
from state.database.pool import get_database
from state.database.statements import statement
from state.errors import NotReady
from state.schema.blockers import BlockerWatch
from state.schema.files import SchemaFile
from state.schema.roles import are_grants_due, grant_roles
from state.schema.roles import script as roles_script
from state.schema.steps import KINDS, Applied, Step, plan, plan_kind
from state.schema.vectors import enable_vectors
from state.schema.vectors import script as vectors_script
from state.schema.version import (
    SUPPORTS,
    VERSION,
    SchemaVersion,
    read_version,
    require_current_schema,
    require_migratable,
    require_supported,
)

__all__ = ["VERSION", "apply_pending", "find_newer", "migrate", "require_current_schema", "script"]

PATIENCE = 60.0  # seconds, for each step
_LOCK_BUSY = (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected)


def migrate() -> list[str]:
    """Returns the names of the files that were applied. Does nothing if the database is up to date or newer."""
    with get_database().connect("migrate", direct=True) as connection:
        _lock(connection)
        if _is_newer(_find_version(connection)):
            return []
        applied = [file.name for step in apply_pending(connection) for file in step.files]
        enable_vectors(connection)
        if are_grants_due(connection):
            grant_roles(connection)
        return applied


def find_newer() -> SchemaVersion | None:
    """Returns the database's version if it is newer than this release. Raises NotReady if they do not work together."""
    with get_database().connect("migrate", direct=True) as connection:
        found = _find_version(connection)
        return found if _is_newer(found) else None


def script() -> str:
    """Returns what `migrate` would do, for psql or for reading. Changes nothing."""
    with get_database().connect("migrate", direct=True) as connection:
        found = _find_version(connection)
        steps = [] if _is_newer(found) else list(plan(_find_applied(connection)))
        text = psycopg.ClientCursor(connection)
        versions = {"version": VERSION, "supports": SUPPORTS}
        complete = found == SchemaVersion(**versions) and not are_grants_due(connection)
        if not steps and (_is_newer(found) or complete):
            return "-- Nothing to do.\n"
        parts = [f"-- To schema {VERSION}. For psql, with ON_ERROR_STOP=1; a part that fails can be run again."]
        parts += [statement("schema_session"), statement("schema_bookkeeping")]
        for step in steps:
            names = ", ".join(file.name for file in step.files)
            applied = [text.mogrify(statement("schema_applied"), row) + ";" for row in _record(step.recorded)]
            body = [*(each for file in step.files for each in file.statements()), *applied]
            parts.append("\n".join([f"-- {names}", *(body if step.autocommit else ["BEGIN;", *body, "COMMIT;"])]))
        parts.append(text.mogrify(statement("schema_version_put"), versions) + ";")
        parts += [vectors_script(), roles_script(connection)]
        return "\n\n".join(parts) + "\n"


def apply_pending(connection: Connection) -> Iterator[Step]:
    """Yields each step after it was applied. The version is written after the last one."""
    _find_applied(connection)  # refuses an old database before anything is changed
    connection.execute(statement("schema_session"), prepare=False)
    connection.execute(statement("schema_bookkeeping"), prepare=False)
    if _has(connection, "schema_version"):
        connection.execute(statement("schema_version_narrow"), {"supports": SUPPORTS})
    with BlockerWatch(connection.info.backend_pid) as watch:
        for kind in KINDS:
            if kind == "functions" and are_grants_due(connection):  # they may use new tables, for whoever calls them
                grant_roles(connection)
            for step in plan_kind(kind, _find_applied(connection)):  # read for each kind: a migration may drop views
                _apply(connection, step, watch)
                yield step
    connection.execute(statement("schema_version_put"), {"version": VERSION, "supports": SUPPORTS})


def _is_newer(found: SchemaVersion | None) -> bool:
    if found is None or found.version <= VERSION:
        return False
    require_supported(found)
    return True


def _find_version(connection: Connection) -> SchemaVersion | None:
    return read_version(connection) if _has(connection, "schema_version") else None


def _find_applied(connection: Connection) -> Applied:
    """Returns an empty dictionary for a new database. Raises NotReady for one that is too old to be migrated."""
    for table, query in (("applied_files", "schema_state"), ("schema_files", "schema_state_before")):
        if _has(connection, table):
            applied = {row["name"]: row["digest"] for row in connection.execute(statement(query))}
            require_migratable(applied, _find_version(connection))
            return applied
    return {}


def _has(connection: Connection, table: str) -> bool:
    row = connection.execute(statement("schema_tables")).fetchone()
    return row is not None and bool(row[table])


def _record(applied: Applied) -> list[dict[str, str]]:
    return [{"name": name, "digest": digest} for name, digest in applied.items()]


def _apply(connection: Connection, step: Step, watch: BlockerWatch) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return _run_statements(connection, step) if step.autocommit else _run_together(connection, step)
        except _LOCK_BUSY as busy:
            if time.monotonic() > deadline:
                raise NotReady(
                    f"{step.name} could not get a lock within {PATIENCE:.0f} s. It is held by: {watch.describe()}. "
                    "Files that were applied before stay applied. "
                    "Run `callboard migrate` again when the lock is free."
                ) from busy
        time.sleep(random.uniform(0.5, 1.5))  # noqa: S311  (sessions that wait behind us go on meanwhile)


def _run_together(connection: Connection, step: Step) -> None:
    with connection.transaction():
        for file in step.files:
            connection.execute(file.text, prepare=False)
        connection.cursor().executemany(statement("schema_applied"), _record(step.recorded))


def _run_statements(connection: Connection, step: Step) -> None:
    for file in step.files:
        _drop_invalid_indexes(connection, file)
        for each in file.statements():
            with _waiting_longer(connection, each):
                connection.execute(each, prepare=False)
    connection.cursor().executemany(statement("schema_applied"), _record(step.recorded))


def _drop_invalid_indexes(connection: Connection, file: SchemaFile) -> None:
    for row in connection.execute(statement("schema_invalid_indexes")).fetchall():
        if re.search(rf"\b{re.escape(row['name'])}\b", file.text):
            drop = sql.SQL(statement("schema_drop_index")).format(name=sql.Identifier(row["name"]))
            with _waiting_longer(connection, drop.as_string()):
                connection.execute(drop, prepare=False)


@contextmanager
def _waiting_longer(connection: Connection, text: str) -> Iterator[None]:
    """A statement that works concurrently waits for every older transaction, and stops no other session meanwhile."""
    if re.search(r"\bCONCURRENTLY\b", text, re.IGNORECASE) is None:
        yield
        return
    connection.execute(statement("schema_lock_timeout"), {"value": f"{PATIENCE}s"})
    try:
        yield
    finally:
        connection.execute(statement("schema_session"), prepare=False)


def _lock(connection: Connection) -> None:
    deadline = time.monotonic() + PATIENCE
    while not (connection.execute(statement("schema_lock")).fetchone() or {})["locked"]:
        if time.monotonic() > deadline:
            holders = ", ".join(str(row["pid"]) for row in connection.execute(statement("schema_lock_holder")))
            raise NotReady(f"Another `callboard migrate` is at work (process {holders} of Postgres).")
        time.sleep(random.uniform(0.1, 0.3))  # noqa: S311
