"""A database of the user's server that exists only for a proof."""

from collections.abc import Iterator
from contextlib import contextmanager

from psycopg import errors, sql
from psycopg.conninfo import make_conninfo

from state.database import connect, fetch_one
from state.database.embedded import EmbeddedPostgres
from state.errors import NotReady
from state.settings import get_settings

NAME = "callboard_prove"


@contextmanager
def make_scratch_database() -> Iterator[str]:
    """Yields the address of an empty database, and drops it at the end. The address does not lead through a pooler. The
    embedded server runs as long as the database is in use, whatever else uses it."""
    settings = get_settings()
    embedded = EmbeddedPostgres(settings.data_dir, "callboard_owner") if settings.database_url is None else None
    url = settings.direct_url or settings.database_url or (embedded.url() if embedded else "")
    try:
        _create()
        try:
            yield make_conninfo(url, dbname=NAME)
        finally:
            _drop()
    finally:
        if embedded is not None:
            embedded.release()


def _create() -> None:
    """Replaces what a proof that was killed has left."""
    with connect("proof", direct=True) as connection:
        known = fetch_one("proof_others", {"name": NAME}, connection)
        if known is not None and known["connected"]:
            raise NotReady(
                f"Another proof is under way on this server: there are connections to the database {NAME}. "
                f"If it was killed, end them: DROP DATABASE {NAME} WITH (FORCE)."
            )
        try:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(NAME)))
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(NAME)))
        except errors.InsufficientPrivilege as refused:
            role = connection.info.user
            raise NotReady(
                f"The role {role} may not create the scratch database {NAME}. As an administrator: "
                f"ALTER ROLE {role} CREATEDB; or set CALLBOARD_DIRECT_URL to an address of a role that may."
            ) from refused


def _drop() -> None:
    with connect("proof", direct=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(NAME)))
