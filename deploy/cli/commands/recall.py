"""`callboard recall`: finds what agents have done before that resembles a text."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from deploy.cli.options import JsonOption

if TYPE_CHECKING:
    from rich.table import Table

TextArgument = Annotated[str, typer.Argument(metavar="TEXT", help="What the events should resemble.")]
LimitOption = Annotated[int, typer.Option(min=1, max=100, help="The largest number of events to print.")]
AgentOption = Annotated[str | None, typer.Option("--agent", help="Only events of this agent.")]
TypeOption = Annotated[str | None, typer.Option("--task-type", help="Only events of this task type.")]
TenantOption = Annotated[str | None, typer.Option(help="Only events of this tenant.")]

_LONGEST = 300  # characters of an event's text


def recall(
    text: TextArgument,
    limit: LimitOption = 5,
    agent: AgentOption = None,
    task_type: TypeOption = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find what agents have done that resembles a text, nearest first.

    Searches by vector where the database has pgvector and the text can be embedded, else by words, and says which.

    \b
    Examples:
      callboard recall "brake pads for a Golf IV"
      callboard recall "failed logins" --agent analytics --limit 3
      callboard recall pricing --json | jq -r '.items[].task_id'
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import open_console, print_json

    params = {"q": text, "limit": limit, "agent_name": agent, "task_type": task_type, "tenant": tenant}
    with open_client(actors=True) as client:
        found = client.request("GET", f"{API}/agent-events/search", params=params)
    if as_json:
        print_json(found)
        return
    if found["items"]:
        open_console().print(_tabulate(found["items"]))
    else:
        typer.echo("Nothing was found.")
    if found["note"]:
        typer.echo(found["note"], err=True)


def _tabulate(events: list[dict[str, Any]]) -> "Table":
    from rich.text import Text

    from deploy.cli.output import format_relative, sanitize, start_table

    table = start_table()
    for heading in ("Score", "Agent", "When", "Task"):
        table.add_column(heading, no_wrap=True)
    table.add_column("Text", ratio=1)
    for event in events:
        table.add_row(
            f"{event['score']:.2f}",
            Text(sanitize(f"{event['agent_name']} {event['task_type']}", 40)),
            format_relative(event["created_at"]),
            event["task_id"],
            Text(sanitize(event["text"], _LONGEST)),
        )
    return table
