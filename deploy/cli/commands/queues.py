"""`callboard queues`: shows how many tasks the queues hold; pauses and resumes a queue."""

from typing import Annotated

import typer

from deploy.cli.exits import EXIT_CODES_HELP
from deploy.cli.options import JsonOption

group = typer.Typer(invoke_without_command=True, epilog=EXIT_CODES_HELP)
Name = Annotated[str | None, typer.Argument(metavar="NAME", help="The queue.")]
All = Annotated[bool, typer.Option("--all", help="Every queue that there is.")]


@group.callback()
def queues(context: typer.Context, as_json: JsonOption = False) -> None:
    """Show the queues; pause and resume them.

    \b
    Examples:
      callboard queues
      callboard queues status --json | jq .queues
      callboard queues pause media
      callboard queues pause --all
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
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import open_console, print_json
    from deploy.cli.queues import describe_depths, tabulate_queues

    with open_client(actors=True) as client:
        found = client.request("GET", f"{API}/queues/status")
    if as_json:
        print_json(found)
        return
    open_console().print(tabulate_queues(found["by_queue"]))
    typer.echo(describe_depths(found))


@group.command("pause", epilog=EXIT_CODES_HELP)
def pause(name: Name = None, everything: All = False, as_json: JsonOption = False) -> None:
    """Let no more tasks of a queue start; running tasks go on.

    \b
    Examples:
      callboard queues pause media
      callboard queues pause --all
    """
    _set_paused(name, everything, paused=True, as_json=as_json)


@group.command("resume", epilog=EXIT_CODES_HELP)
def resume(name: Name = None, everything: All = False, as_json: JsonOption = False) -> None:
    """Let the tasks of a queue start again.

    \b
    Examples:
      callboard queues resume media
      callboard queues resume --all
    """
    _set_paused(name, everything, paused=False, as_json=as_json)


def _set_paused(name: str | None, everything: bool, *, paused: bool, as_json: bool) -> None:
    """With --all, the output is a list."""
    from urllib.parse import quote

    from deploy.cli.connection import API, open_client
    from deploy.cli.exits import BAD_INPUT, Failure
    from deploy.cli.output import print_json

    if (name is None) != everything:
        raise Failure(BAD_INPUT, "Name one queue, or say --all.")
    verb = "pause" if paused else "resume"
    with open_client(actors=True) as client:
        names = (
            [name]
            if name is not None
            else [row["queue"] for row in client.request("GET", f"{API}/queues/status")["by_queue"]]
        )
        switched = [client.request("POST", f"{API}/queues/{quote(each, safe='')}/{verb}") for each in names]
    if as_json:
        print_json(switched if everything else switched[0])
        return
    for each in switched:
        queue = each["queue"]
        typer.echo(f"{queue} is paused; running tasks go on." if each["paused"] else f"{queue} is open.")
