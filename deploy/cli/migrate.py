"""`callboard migrate`: brings the database to what this code needs."""

from typing import Annotated

import typer

from deploy.cli.options import JsonOption

SqlOption = Annotated[bool, typer.Option("--sql", help="Print the SQL that would be run, and change nothing.")]


def migrate(sql: SqlOption = False, as_json: JsonOption = False) -> None:
    """Bring the database's schema up to date.

    Workers and servers of the release before run on meanwhile: migrate first, then replace them in any order. A file
    that needs a lock waits for it two seconds at a time, so that nobody stands behind it for longer, and says who
    holds it when it cannot get it within a minute. Running it again does nothing, or goes on where it was interrupted;
    an older release than the database's changes nothing.

    Without CALLBOARD_DATABASE_URL it is the embedded Postgres in CALLBOARD_DATA_DIR, which is created when there is
    none. CALLBOARD_DIRECT_URL is used where it is set: one cannot migrate through a pooler.

    \b
    Examples:
      callboard migrate
      callboard migrate --sql | less
      CALLBOARD_DATABASE_URL=postgresql://localhost/callboard callboard migrate
    """
    from deploy.cli.output import print_json
    from deploy.cli.store import open_store
    from state.schema import migration

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
        typer.echo("The database was up to date already.")
