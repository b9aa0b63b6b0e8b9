"""`callboard migrate`: brings the database's schema up to date."""

from typing import Annotated

import typer

from deploy.cli.options import JsonOption

SqlOption = Annotated[bool, typer.Option("--sql", help="Print the SQL that would be run, and change nothing.")]


def migrate(sql: SqlOption = False, as_json: JsonOption = False) -> None:
    """Bring the database's schema up to date.

    Workers and servers of the previous release keep running: migrate first, then replace them in any order. A migration
    waits for a lock at most two seconds at a time, so that it blocks other sessions no longer than that. If it cannot
    get the lock within a minute, it fails and names the session that holds it. Running it again does nothing, or
    continues where it was interrupted. A release that is older than the database changes nothing.

    Without CALLBOARD_DATABASE_URL, it migrates the embedded Postgres in CALLBOARD_DATA_DIR, and creates it if needed.
    It uses CALLBOARD_DIRECT_URL if that is set, because migrations cannot go through a connection pooler.

    \b
    Examples:
      callboard migrate
      callboard migrate --sql | less
      CALLBOARD_DATABASE_URL=postgresql://localhost/callboard callboard migrate
    """
    from deploy.cli.output import print_json
    from deploy.cli.store import open_store
    from state.agents.events import explain_missing_vectors
    from state.schema import migration
    from state.schema.roles import explain_missing_roles

    with open_store(current_schema=False):
        if sql:
            script = migration.script()
            if as_json:
                print_json({"sql": script})
            else:
                typer.echo(script, nl=False)
            return
        newer = migration.find_newer()
        applied = migration.migrate()
        missing = explain_missing_vectors()
        without_rights = None if newer else explain_missing_roles()
    if as_json:
        print_json({"applied": applied})
    elif newer:
        typer.echo(
            f"Nothing was changed: the database has schema {newer.version}, which is newer than this release's "
            f"{migration.VERSION} and works with it."
        )
    elif applied:
        typer.echo(f"The database is up to date. Applied: {', '.join(applied)}.")
    else:
        typer.echo("The database was already up to date.")
    if missing:
        typer.echo(f"Agent events will be searched by words, not by vectors: {missing}.", err=True)
    if without_rights:
        typer.echo(f"The SQL roles have no rights: {without_rights}", err=True)
