"""`callboard workers`: lists the worker processes, and what each runs."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from deploy.cli.options import JsonOption

if TYPE_CHECKING:
    from rich.table import Table


def workers(
    tasks: Annotated[bool, typer.Option("--tasks", help="Show the tasks that they run.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List the registered worker processes of all machines.

    \b
    Examples:
      callboard workers
      callboard workers --tasks
      callboard workers --json | jq '[.items[] | select(.alive)] | length'
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import open_console, print_rows

    with open_client(actors=True) as client:
        rows = list(client.pages(f"{API}/workers"))
    print_rows(rows, _tabulate, if_empty="No workers.", as_json=as_json)
    if tasks and not as_json and any(row["tasks"] for row in rows):
        open_console().print(_tabulate_tasks(rows))


def _tabulate(rows: list[dict[str, Any]]) -> "Table":
    from rich.text import Text

    from deploy.cli.output import format_duration, format_relative, sanitize, start_table
    from deploy.cli.workers import format_state

    table = start_table()
    for heading in ("Worker", "Queues"):
        table.add_column(heading, overflow="fold")
    for heading in ("Threads", "Coroutines"):
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in ("Version", "Started", "Last heartbeat", ""):
        table.add_column(heading, no_wrap=True)
    for row in rows:
        table.add_row(
            Text(sanitize(row["id"])),
            Text(sanitize(", ".join(row["queues"]))),
            f"{row['threads_busy']}/{row['threads']}",
            f"{row['coroutines_busy']}/{row['coroutines']}",
            Text(sanitize(row["version"] or "-")),
            format_relative(row["started_at"]),
            f"{format_duration(max(row['silent_seconds'], 0))} ago",
            format_state(row),
        )
    return table


def _tabulate_tasks(rows: list[dict[str, Any]]) -> "Table":
    from rich.text import Text

    from deploy.cli.output import format_relative, sanitize, start_table

    table = start_table()
    table.add_column("Task", no_wrap=True)
    table.add_column("Actor", overflow="fold")
    table.add_column("In a", no_wrap=True)
    table.add_column("Started", no_wrap=True)
    table.add_column("Worker", overflow="fold")
    for row in rows:
        for task in row["tasks"]:
            actor = f"{task['actor']} {task['agent_name'] or ''}".strip()
            started = format_relative(task["started_at"])
            names = (Text(sanitize(actor)), task["place"], started, Text(sanitize(row["id"])))
            table.add_row(Text(sanitize(task["task_id"])), *names)
    return table
