"""The contract between this code and the database's schema: a version, and the range of versions that work together.

A release's version is the number of its highest migration. It works with a database whose schema is at least that, as
long as the schema still supports it. So a release whose code depends on a changed function brings a migration as well,
and the schema of a release keeps everything that the releases from SUPPORTS on call."""

from collections.abc import Iterable
from typing import NamedTuple

import psycopg

from state.database.connection import Connection
from state.database.pool import get_database
from state.database.statements import statement
from state.errors import NotReady
from state.schema.files import migration_number, newest_migration

VERSION = newest_migration()
SUPPORTS = 23  # the oldest release whose workers and servers run on while and after this schema is applied
OLDEST = 23  # the oldest schema that this release can migrate: there are no migrations for databases before it

_TOO_OLD = (
    "This release is too old for the database: it works with schema {release} and those that still support it; the "
    "database has schema {version}, for releases from {supports} on. Upgrade this release."
)

_TOO_OLD_TO_MIGRATE = (
    "The database has schema {found}; this release can migrate databases from schema {oldest} on. "
    "Run `callboard migrate` of release {oldest} first, then that of this release."
)

_INCOMPLETE = (
    "The migration of the database to schema {found} is not complete. "
    "Run `callboard migrate` of release {found} first, then that of this release."
)


class SchemaVersion(NamedTuple):
    version: int
    supports: int


def require_current_schema() -> None:
    """Raises NotReady, saying what to do, unless this release works with the database's schema."""
    try:
        with get_database().pool().connection(timeout=3) as connection:
            found = read_version(connection)
    except psycopg.errors.UndefinedTable:
        found = None
    except (psycopg.OperationalError, TimeoutError) as unreachable:
        raise NotReady(f"The database cannot be reached: {unreachable}") from unreachable
    if found is None:
        raise NotReady(
            "The database has no schema of Callboard yet, or that of an old release. Run `callboard migrate`."
        )
    require_supported(found)
    if found.version < VERSION:
        raise NotReady(
            f"The database has schema {found.version}; this release needs {VERSION}. Run `callboard migrate`."
        )


def require_supported(found: SchemaVersion) -> None:
    if found.supports > VERSION:
        raise NotReady(_TOO_OLD.format(release=VERSION, version=found.version, supports=found.supports))


def require_migratable(applied: Iterable[str], version: SchemaVersion | None) -> None:
    """Raises NotReady if the files that were applied to the database are those of a release before OLDEST. A database
    without a version has not been completed by the release whose files it has, which is fine if that is this one."""
    found = max((migration_number(name) for name in applied if name.startswith("migrations/")), default=VERSION)
    if found < OLDEST:
        raise NotReady(_TOO_OLD_TO_MIGRATE.format(found=found, oldest=OLDEST))
    if version is None and found < VERSION:
        raise NotReady(_INCOMPLETE.format(found=found))


def read_version(connection: Connection) -> SchemaVersion | None:
    """Returns None while the first migration to a schema with a version is under way."""
    row = connection.execute(statement("schema_version")).fetchone()
    return None if row is None else SchemaVersion(**row)
