"""`callboard overview`: the state of everything at a glance, and what is wrong at the moment."""

from typing import TYPE_CHECKING, Any

from deploy.cli.options import JsonOption

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def overview(as_json: JsonOption = False) -> None:
    """Show the state of everything at a glance, and what is wrong at the moment.

    \b
    Examples:
      callboard overview
      callboard overview --json | jq -r '.troubles[].title'
    """
    from deploy.cli.connection import API, open_client
    from deploy.cli.output import open_console, print_json

    with open_client(actors=True) as client:
        found = client.request("GET", f"{API}/overview")
    if as_json:
        print_json(found)
    else:
        _print(found, open_console())


def _print(found: dict[str, Any], console: "Console") -> None:
    from rich.text import Text

    from deploy.cli.output import format_duration

    for trouble in found["troubles"]:
        console.print(_describe_trouble(trouble))
    if not found["troubles"]:
        console.print(Text("Nothing is wrong.", style="green"))
    counted = ((status, tasks) for status, tasks in found["states"].items() if tasks is not None)
    console.print("  ".join(f"{status} {tasks:,}" for status, tasks in counted))
    pace = found["per_minute"]
    last = next((minute for minute in reversed(found["history"]) if minute["run_seconds"] is not None), None)
    times = (
        "" if last is None else f"; they start after {format_duration(last['start_seconds'])} and run "
        f"{format_duration(last['run_seconds'])}"
    )  # fmt: skip
    console.print(
        f"A minute: {pace['created']:.0f} created, {pace['completed']:.0f} completed, {pace['died']:.0f} died{times}"
    )
    for rows, tabulate in (
        (found["queues"], _tabulate_queues),
        (found["gates"], _tabulate_gates),
        (found["workers"], _tabulate_workers),
        (found["dead_letters"], _tabulate_dead_letters),
    ):
        if rows:
            console.print(tabulate(rows))


def _describe_trouble(trouble: dict[str, Any]) -> str:
    from rich.markup import escape

    from deploy.cli.output import format_relative, sanitize

    since = "" if trouble["since"] is None else f" (since {format_relative(trouble['since'])})"
    rest = sanitize(f"{trouble['detail']} {trouble['advice']}")
    return f"[bold red]{escape(sanitize(trouble['title']))}[/]{since} {escape(rest)}"


def _tabulate_queues(rows: list[dict[str, Any]]) -> "Table":
    from rich.text import Text

    from deploy.cli.output import format_duration, format_status, sanitize, start_table

    table = start_table()
    table.add_column("Queue", no_wrap=True)
    for heading in ("Primary", "Retry", "Running", "Oldest"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for row in rows:
        state = format_status("paused") if row["paused"] else "" if row["consumed"] else Text("no worker", style="red")
        oldest = "-" if row["oldest_seconds"] is None else format_duration(row["oldest_seconds"])
        counts = (f"{row[name]:,}" for name in ("primary", "retry", "running"))
        table.add_row(Text(sanitize(row["queue"])), *counts, oldest, state)
    return table


def _tabulate_gates(rows: list[dict[str, Any]]) -> "Table":
    from rich.text import Text

    from deploy.cli.output import format_relative, sanitize, start_table

    table = start_table()
    table.add_column("Gate", overflow="fold")
    for heading in ("Running", "Waiting"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for row in rows:
        limit = "" if row["max_concurrent"] is None else f"/{row['max_concurrent']}"
        if row["breaker_state"] != "closed":
            state = Text(f"breaker {row['breaker_state'].replace('_', ' ')}", style="bold red")
        elif row["paused"]:
            state = Text("paused", style="yellow")
        else:
            state = Text(f"opens {format_relative(row['closed_until'])}" if row["closed_until"] else "")
        table.add_row(Text(sanitize(row["key"])), f"{row['running']}{limit}", f"{row['waiting']:,}", state)
    return table


def _tabulate_workers(rows: list[dict[str, Any]]) -> "Table":
    from rich.text import Text

    from deploy.cli.output import format_duration, sanitize, start_table
    from deploy.cli.workers import format_state

    table = start_table()
    table.add_column("Worker", overflow="fold")
    for heading in ("Threads", "Coroutines", "Last heartbeat"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for row in rows:
        table.add_row(
            Text(sanitize(row["id"])),
            f"{row['threads_busy']}/{row['threads']}",
            f"{row['coroutines_busy']}/{row['coroutines']}",
            f"{format_duration(max(row['silent_seconds'], 0))} ago",
            format_state(row),
        )
    return table


def _tabulate_dead_letters(rows: list[dict[str, Any]]) -> "Table":
    from rich.text import Text

    from deploy.cli.output import format_relative, sanitize, start_table

    table = start_table()
    table.add_column("Dead letters", overflow="fold")
    table.add_column("Actor", overflow="fold")
    table.add_column("Tasks", justify="right", no_wrap=True)
    table.add_column("Newest", no_wrap=True)
    table.add_column("", overflow="fold")
    for row in rows:
        table.add_row(
            Text(sanitize(row["error_type"])),
            Text(sanitize(row["actor"])),
            f"{row['tasks']:,}",
            format_relative(row["finished_at"]),
            Text(sanitize(row["message"] or "", limit=100)),
        )
    return table
