"""`callboard workers`: lists the worker processes."""

from typing import TYPE_CHECKING, Any

from deploy.cli.options import JsonOption

if TYPE_CHECKING:
    from rich.table import Table


def workers(as_json: JsonOption = False) -> None:
    """List the registered worker processes of all machines.

    \b
    Examples:
      callboard workers
      callboard workers --json | jq '[.items[] | select(.alive)] | length'
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import print_rows

    with open_client() as client:
        rows = list(client.pages(f"{API}/workers"))
    print_rows(rows, _tabulate, if_empty="No workers.", as_json=as_json)


def _tabulate(rows: list[dict[str, Any]]) -> "Table":
    from rich.text import Text

    from deploy.cli.output import format_duration, format_relative, sanitize, start_table

    table = start_table()
    for heading in ("Worker", "Queues"):
        table.add_column(heading, overflow="fold")
    table.add_column("Running", justify="right", no_wrap=True)
    for heading in ("Started", "Last heartbeat", ""):
        table.add_column(heading, no_wrap=True)
    for row in rows:
        table.add_row(
            Text(sanitize(row["id"])),
            Text(sanitize(", ".join(row["queues"]))),
            f"{row['running']}/{row['threads']}+{row['coroutines']}",
            format_relative(row["started_at"]),
            f"{format_duration(max(row['silent_seconds'], 0))} ago",
            Text("alive", style="green") if row["alive"] else Text("silent", style="bold red"),
        )
    return table
