"""`callboard queues`: shows how many tasks the queues hold; pauses and resumes a queue."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from deploy.cli.exits import EXIT_CODES_HELP, NOT_FOUND, Failure
from deploy.cli.options import JsonOption

if TYPE_CHECKING:
    from rich.table import Table

group = typer.Typer(invoke_without_command=True, epilog=EXIT_CODES_HELP)
Name = Annotated[str, typer.Argument(metavar="NAME", help="The queue.")]


@group.callback()
def queues(context: typer.Context, as_json: JsonOption = False) -> None:
    """Show the queues; pause and resume them.

    \b
    Examples:
      callboard queues
      callboard queues status --json | jq .queues
      callboard queues pause media
      callboard queues resume media
    """
    if context.invoked_subcommand is None:
        status(as_json)


@group.command("status", epilog=EXIT_CODES_HELP)
def status(as_json: JsonOption = False) -> None:
    """Show the number of tasks in each queue.

    \b
    Examples:
      callboard queues status
      callboard queues status --json | jq .retry_ratio
    """
    from deploy.cli.output import open_console, print_json
    from deploy.cli.store import load_actors, open_store
    from state.tasks.queues import get_queue_status

    with open_store():
        load_actors()
        found = get_queue_status()
    if as_json:
        print_json(found)
        return
    depths = "  ".join(f"{name} {count}" for name, count in found["queues"].items())
    open_console().print(_tabulate(found["by_queue"]))
    typer.echo(f"All: {depths}  (the retry lane gets {found['retry_ratio']:.0%} of the starts)")


@group.command("pause", epilog=EXIT_CODES_HELP)
def pause(name: Name, as_json: JsonOption = False) -> None:
    """Let no more tasks of a queue start; running tasks go on.

    \b
    Examples:
      callboard queues pause media
    """
    _set_paused(name, paused=True, as_json=as_json)


@group.command("resume", epilog=EXIT_CODES_HELP)
def resume(name: Name, as_json: JsonOption = False) -> None:
    """Let the tasks of a queue start again.

    \b
    Examples:
      callboard queues resume media
    """
    _set_paused(name, paused=False, as_json=as_json)


def _set_paused(name: str, *, paused: bool, as_json: bool) -> None:
    from deploy.cli.output import print_json
    from deploy.cli.store import load_actors, open_store
    from state.tasks import catalog
    from state.tasks.queues import pause_queue, resume_queue

    with open_store():
        load_actors()
        if name not in catalog.list_queues():
            raise Failure(NOT_FOUND, f"There is no queue {name!r}. Known queues: {', '.join(catalog.list_queues())}.")
        gate = pause_queue(name) if paused else resume_queue(name)
    if as_json:
        print_json({"queue": name, "gate": gate["key"], "paused": gate["paused"]})
    else:
        typer.echo(f"{name} is paused; running tasks go on." if gate["paused"] else f"{name} is open.")


def _tabulate(rows: list[dict[str, Any]]) -> "Table":
    from rich.text import Text

    from deploy.cli.output import format_status, sanitize, start_table

    table = start_table()
    table.add_column("Queue", no_wrap=True)
    for heading in ("Primary", "Retry", "Running"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for row in rows:
        counts = (str(row[name]) for name in ("primary", "retry", "running"))
        table.add_row(Text(sanitize(row["queue"])), *counts, format_status("paused") if row["paused"] else "")
    return table
