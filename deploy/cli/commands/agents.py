"""`callboard agents`: lists the agents and their task types."""

from typing import TYPE_CHECKING, Any

from deploy.cli.options import JsonOption

if TYPE_CHECKING:
    from rich.table import Table


def agents(as_json: JsonOption = False) -> None:
    """List the agents, their task types and what they do.

    \b
    Examples:
      callboard agents
      callboard agents --json | jq '.items[] | select(.agent_name == "text") | .input_schema'
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_rows

    with open_client(actors=True) as client:
        rows = list(client.pages(f"{API}/agents"))
    print_rows(rows, _tabulate, if_empty="No agents.", as_json=as_json)


def _tabulate(rows: list[dict[str, Any]]) -> "Table":
    from rich.text import Text

    from deploy.cli.options import PRIORITIES
    from deploy.cli.output import sanitize, start_table

    table = start_table()
    for heading in ("Agent", "Task type", "Priority", "Role"):
        table.add_column(heading, no_wrap=True)
    table.add_column("", overflow="fold")
    for row in rows:
        table.add_row(
            Text(sanitize(row["agent_name"])),
            Text(sanitize(row["task_type"])),
            f"{row['priority']} {PRIORITIES[row['priority']]}",
            row["role"],
            Text(sanitize(row["description"])),
        )
    return table
