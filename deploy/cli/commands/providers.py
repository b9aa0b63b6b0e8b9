"""`callboard providers`: lists the services that the work uses, and previews what an action costs."""

from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer

from deploy.cli.exits import EXIT_CODES_HELP
from deploy.cli.options import JsonOption

if TYPE_CHECKING:
    from rich.table import Table

group = typer.Typer(invoke_without_command=True, epilog=EXIT_CODES_HELP)


@group.callback()
def providers(context: typer.Context, as_json: JsonOption = False) -> None:
    """List the providers and their actions; preview an action.

    \b
    Examples:
      callboard providers
      callboard providers preview local txt2img --set width=512
    """
    if context.invoked_subcommand is None:
        list_all(as_json)


@group.command("list", epilog=EXIT_CODES_HELP)
def list_all(as_json: JsonOption = False) -> None:
    """List the providers, their actions, and what is missing for those that cannot be used.

    \b
    Examples:
      callboard providers list --json | jq '.items[] | select(.available | not) | .missing'
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_rows

    with open_client() as client:
        rows = list(client.pages(f"{API}/providers"))
    print_rows(rows, _tabulate, if_empty="No providers.", as_json=as_json)


@group.command("preview", epilog=EXIT_CODES_HELP)
def preview(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The media provider.")],
    action: Annotated[str, typer.Argument(metavar="ACTION", help="One of its actions, such as txt2img.")],
    params: Annotated[
        str | None, typer.Option(metavar="JSON", help="JSON, @file, or - for stdin.", show_default=False)
    ] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Set one parameter, as in `submit`.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what an action would cost and return, without running it.

    \b
    Examples:
      callboard providers preview local txt2img --set width=512 --set height=512
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_json, sanitize
    from deploy.cli.payloads import read_payload

    body = {"action_type": action, "params": read_payload(params, assignments or [])}
    with open_client() as client:
        found = client.request("POST", f"{API}/providers/{quote(name, safe='')}/preview", json=body)
    if as_json:
        print_json(found)
        return
    for field, value in found.items():
        typer.echo(f"{field:>16}  {'not known' if value is None else sanitize(value)}")


def _tabulate(rows: list[dict[str, Any]]) -> "Table":
    from rich.text import Text

    from deploy.cli.output import sanitize, start_table

    table = start_table()
    for heading in ("Provider", "Kind", "At once", "Actions"):
        table.add_column(heading, no_wrap=True)
    table.add_column("", overflow="fold")
    for row in rows:
        limit = row["limits"]["concurrency"]
        table.add_row(
            Text(sanitize(row["name"])), row["kind"], "-" if limit is None else str(limit),
            Text(sanitize(", ".join(row["actions"]))),
            Text("available", style="green") if row["available"] else Text(f"needs {row['missing']}", style="yellow"),
        )  # fmt: skip
    return table
