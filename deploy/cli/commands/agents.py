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
    from deploy.cli.output import print_rows
    from deploy.cli.store import load_actors
    from state.agents import catalog

    load_actors()
    print_rows([spec.describe() for spec in catalog.list_agents()], _tabulate, if_empty="No agents.", as_json=as_json)


def _tabulate(rows: list[dict[str, Any]]) -> "Table":
    from rich.text import Text

    from deploy.cli.output import sanitize, start_table
    from state.tasks.priorities import NAMES

    table = start_table()
    for heading in ("Agent", "Task type", "Priority", "Role"):
        table.add_column(heading, no_wrap=True)
    table.add_column("", overflow="fold")
    for row in rows:
        table.add_row(
            Text(sanitize(row["agent_name"])),
            Text(sanitize(row["task_type"])),
            f"{row['priority']} {NAMES[row['priority']]}",
            row["role"],
            Text(sanitize(row["description"])),
        )
    return table
