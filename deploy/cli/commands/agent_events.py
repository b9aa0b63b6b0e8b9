"""`callboard agent-events`: lists what agents have done."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deploy.cli.options import BeforeOption, JsonOption, LimitOption, TenantOption, read_moment

if TYPE_CHECKING:
    from rich.table import Table

_LONGEST = 300  # characters of an event's text


def agent_events(
    agent: Annotated[str | None, typer.Option("--agent", help="Only events of this agent.")] = None,
    task_type: Annotated[str | None, typer.Option(help="Only events of this task type.")] = None,
    tenant: TenantOption = None,
    text: Annotated[str | None, typer.Option(metavar="WORDS", help="Only events with all of these words.")] = None,
    since: Annotated[
        datetime | None,
        typer.Option("--from", parser=read_moment, metavar="MOMENT", help="The first moment; without a zone in UTC."),
    ] = None,
    until: Annotated[
        datetime | None,
        typer.Option("--to", parser=read_moment, metavar="MOMENT", help="The first moment after the last event."),
    ] = None,
    limit: LimitOption = 20,
    before: BeforeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List what agents have done, newest first. To find what resembles a text, use `callboard recall`.

    \b
    Examples:
      callboard agent-events
      callboard agent-events --agent writer --text "quarterly report"
      callboard agent-events --from 2030-01-31 --json | jq -r '.items[].task_id'
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_page
    from deploy.cli.pages import fetch

    filters = {"agent_name": agent, "task_type": task_type, "tenant": tenant, "text": text}
    moments = {"from": since and since.isoformat(), "to": until and until.isoformat()}
    with open_client() as client:
        found = fetch(client, f"{API}/agent-events", limit=limit, cursor=before, **filters, **moments)
    print_page(found, _tabulate, command="agent-events", if_empty="No events.", as_json=as_json)


def _tabulate(events: Sequence[dict[str, Any]]) -> "Table":
    from rich.text import Text

    from deploy.cli.output import format_relative, sanitize, start_table

    table = start_table()
    for heading in ("Agent", "When", "Task"):
        table.add_column(heading, no_wrap=True)
    table.add_column("Text", ratio=1)
    for event in events:
        table.add_row(
            Text(sanitize(f"{event['agent_name']} {event['task_type']}", 40)),
            format_relative(event["created_at"]),
            event["task_id"],
            Text(sanitize(event["text"], _LONGEST)),
        )
    return table
