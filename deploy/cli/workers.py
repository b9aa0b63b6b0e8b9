"""`callboard workers`: who does the work."""

from typing import TYPE_CHECKING, Any

import typer

from deploy.cli.options import JsonOption

if TYPE_CHECKING:
    from rich.table import Table


def workers(as_json: JsonOption = False) -> None:
    """List the worker processes that have not said goodbye, on all machines.

    \b
    Examples:
      callboard workers
      callboard workers --json | jq '[.items[] | select(.alive)] | length'
    """
    import pydantic_core

    from deploy.cli.output import console, print_json
    from deploy.cli.store import open_store
    from state.settings import get_settings
    from state.workers.registry import list_workers

    with open_store():
        lease_seconds = get_settings().lease_seconds
        rows = [{**row, "alive": row["silent_seconds"] < lease_seconds} for row in list_workers()]
    if as_json:
        print_json({"items": pydantic_core.to_jsonable_python(rows), "next_cursor": None})
    elif not rows:
        typer.echo("No workers.")
    else:
        console().print(_table(rows))


def _table(rows: list[dict[str, Any]]) -> "Table":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from deploy.cli.output import duration, plain, relative

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("Worker", "Queues"):
        table.add_column(heading, overflow="fold")
    table.add_column("Running", justify="right", no_wrap=True)
    for heading in ("Started", "Last sign of life", ""):
        table.add_column(heading, no_wrap=True)
    for row in rows:
        table.add_row(
            Text(plain(row["id"])),
            Text(plain(", ".join(row["queues"]))),
            f"{row['running']}/{row['threads']}",
            relative(row["started_at"]),
            f"{duration(max(row['silent_seconds'], 0))} ago",
            Text("alive", style="green") if row["alive"] else Text("silent", style="bold red"),
        )
    return table
