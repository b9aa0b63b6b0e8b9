"""The rights of the SQL roles: `state/roles/grants.sql`.

Not a migration: it is applied again after anything else has changed, as a new table has no rights and a view that is
made again has lost them. Where the roles do not exist and cannot be made, everything works as it is: all processes then
use the login that migrates."""

import psycopg

from state.database.connection import Connection
from state.database.pool import get_database
from state.database.statements import statement
from state.logs import log
from state.schema.files import SchemaFile, schema_files


def grant_roles(connection: Connection) -> str | None:
    """Creates the roles, if they are missing, and gives them their rights. Returns the reason if that is not possible;
    the next `migrate` tries again."""
    file = _grants()
    try:
        with connection.transaction():
            connection.execute(file.text, prepare=False)
            connection.execute(statement("schema_applied"), {"name": file.name, "digest": file.digest})
    except psycopg.errors.UndefinedObject as missing:
        reason = f"{missing.diag.message_primary}. {missing.diag.message_hint}"
        log.warning("the SQL roles have no rights", error=reason)
        return reason
    return None


def are_grants_due(connection: Connection) -> bool:
    file = _grants()
    row = connection.execute(
        statement("schema_grants_due"), {"name": file.name, "digest": file.digest}, prepare=False
    ).fetchone()
    return row is not None and bool(row["due"])


def explain_missing_roles() -> str | None:
    """Says why the roles have no rights, and what to do; None if they have them. Tries again to give them."""
    with get_database().connect("migrate", direct=True) as connection:
        return grant_roles(connection) if are_grants_due(connection) else None


def script(connection: Connection) -> str:
    """Returns the same for psql."""
    file = _grants()
    mark = psycopg.ClientCursor(connection).mogrify(
        statement("schema_applied"), {"name": file.name, "digest": file.digest}
    )
    return f"-- {file.name}\nBEGIN;\n{file.text}\n{mark};\nCOMMIT;"


def _grants() -> SchemaFile:
    [file] = schema_files("roles")
    return file
