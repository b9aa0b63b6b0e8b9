"""`callboard migrate`: brings the database to what this code needs."""

import typer

from deploy.cli.options import JsonOption


def migrate(as_json: JsonOption = False) -> None:
    """Bring the database's schema up to date.

    Running it again does nothing. Without CALLBOARD_DATABASE_URL it is the embedded Postgres in CALLBOARD_DATA_DIR,
    which is created when there is none. CALLBOARD_DIRECT_URL is used where it is set: one cannot migrate through a
    pooler.

    \b
    Examples:
      callboard migrate
      CALLBOARD_DATABASE_URL=postgresql://localhost/callboard callboard migrate
    """
    from deploy.cli.output import print_json
    from deploy.cli.store import open_store
    from state import schema

    with open_store(current_schema=False):
        applied = schema.migrate()
    if as_json:
        print_json({"applied": applied})
    elif applied:
        typer.echo(f"The database is up to date. Applied: {', '.join(applied)}.")
    else:
        typer.echo("The database was up to date already.")
