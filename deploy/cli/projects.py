"""Input and output of `callboard project`, and following a queue on the terminal."""

from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table
from rich.text import Text

from deploy.cli.connection import API
from deploy.cli.exits import BAD_INPUT, CANCELED, COMMAND_FAILED, INTERRUPTED, Failure
from deploy.cli.output import (
    format_duration,
    format_error,
    format_relative,
    format_status,
    open_console,
    print_json,
    sanitize,
    sanitize_json,
    start_table,
)
from deploy.cli.payloads import read_payload
from deploy.cli.watch.following import JsonScreen, LineScreen
from taskclient import Event

if TYPE_CHECKING:
    from taskclient import Client

_ITEM_FIELDS = ("title", "agent_name", "task_type", "input", "priority")
_EXIT_CODES = {"dead": COMMAND_FAILED, "canceled": CANCELED}


def read_items(
    file: str | None,
    title: str | None,
    agent: str | None,
    task_type: str | None,
    text: str | None,
    priority: int | None,
) -> list[dict[str, Any]]:
    if file is None:
        if title is None or agent is None or task_type is None:
            raise Failure(BAD_INPUT, "Give a file, or --title, --agent and --task-type.")
        values = (title, agent, task_type, read_payload(text, []), priority)
        return [dict(zip(_ITEM_FIELDS, values, strict=True))]
    body = read_payload(file if file == "-" else f"@{file}", [])
    items = body.get("items")
    if not isinstance(items, list) or set(body) != {"items"}:
        raise Failure(BAD_INPUT, 'The file must be a JSON object {"items": [...]}.')
    return items


def print_state(state: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(state)
    else:
        print(describe_state(state))


def describe_state(state: dict[str, Any]) -> str:
    if not state["is_running"]:
        words = f"stopped {format_relative(state['stopped_at'])}" if state["stopped_at"] else "never started"
        return f"{words}; last error: {sanitize(state['last_error'])}" if state["last_error"] else words
    took = format_duration(state["elapsed_seconds"] or 0)
    words = f"running ({state['mode']}) for {took}, run {state['current_run_id']}"
    if state["paused"]:
        words += " is paused"
    return f"{words}; stops after this item" if state["should_stop"] else words


def tabulate_projects(rows: list[dict[str, Any]]) -> Table:
    table = start_table()
    for heading in ("Project", "Name", "Pending", "Completed", "Failed"):
        table.add_column(heading, no_wrap=True)
    table.add_column("Queue", no_wrap=True, overflow="ellipsis", ratio=1)
    for row in rows:
        counts = (str(row["items"][status]) for status in ("pending", "completed", "failed"))
        state = Text(describe_state(row["queue_state"]))
        table.add_row(row["project_id"], Text(sanitize(row["name"], 40)), *counts, state)
    return table


def tabulate_project(project: dict[str, Any]) -> Table:
    return _tabulate_fields({
        "Project": project["project_id"],
        "Name": sanitize(project["name"]),
        "Tenant": sanitize(project["tenant"] or "-"),
        "Queue": describe_state(project["queue_state"]),
        "Items": ", ".join(f"{count} {status}" for status, count in project["items"].items()),
        "Created": format_relative(project["created_at"]),
    })  # fmt: skip


def tabulate_statistics(found: dict[str, Any]) -> Table:
    average = found["average_seconds"]
    ends = (f"{found[end]} {end}" for end in ("completed", "failed", "canceled"))
    return _tabulate_fields({
        "Ended runs": f"{found['runs']}: {', '.join(ends)}",
        "Since the start": str(found["runs_since_start"]),
        "Average": "-" if average is None else format_duration(average),
        "Altogether": format_duration(found["total_seconds"]),
        "Tokens": str(found["tokens"]),
        "Cost": str(found["cost"]),
        "Stopped": ", ".join(f"{each['reason']} ({each['count']})" for each in found["stops"]) or "-",
    })  # fmt: skip


def _tabulate_fields(fields: dict[str, str]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bright_black", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in fields.items():
        grid.add_row(name, Text(value))
    return grid


def tabulate_items(rows: list[dict[str, Any]]) -> Table:
    table = start_table()
    for heading in ("Item", "Title", "Agent", "Priority", "Status", "Runs"):
        table.add_column(heading, no_wrap=True)
    table.add_column("", no_wrap=True, overflow="ellipsis", ratio=1)
    for row in rows:
        note = format_error(row["error"]) or ("" if row["result"] is None else sanitize_json(row["result"], 200))
        work = Text(sanitize(f"{row['agent_name']}/{row['task_type']}"))
        title, status = Text(sanitize(row["title"], 40)), format_status(row["status"])
        table.add_row(row["item_id"], title, work, str(row["priority"]), status, str(row["runs"]), Text(note))
    return table


def tabulate_runs(rows: list[dict[str, Any]]) -> Table:
    table = start_table()
    for heading in ("Run", "Mode", "Status", "Started", "Took", "Item"):
        table.add_column(heading, no_wrap=True)
    table.add_column("Queue stopped", no_wrap=True, overflow="ellipsis", ratio=1)
    for row in rows:
        took = "-" if row["seconds"] is None else format_duration(row["seconds"])
        status = format_status(row["outcome"] or row["status"] or "-")
        started, item = format_relative(row["started_at"]), Text(sanitize(row["title"] or "-", 40))
        table.add_row(row["run_id"], row["mode"], status, started, took, item, Text(sanitize(row["reason"] or "")))
    return table


def watch_project(
    client: "Client", project_id: str, *, as_json: bool, begin: Callable[[], object] | None = None
) -> None:
    """Shows the queue until it stops, then exits with the code of its last run. Ctrl-C ends only the watching. Calls
    `begin` when the stream is open, so that nothing of a quick run is missed."""
    screen = JsonScreen() if as_json else _TextScreen(open_console())
    try:
        _follow_queue(client, f"{API}/projects/{project_id}", screen, begin)
    except KeyboardInterrupt:
        again = f"callboard watch {project_id}"
        typer.echo(f"No longer watching; the queue goes on. To continue: {again}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    runs = client.request("GET", f"{API}/projects/{project_id}/runs", params={"limit": 1})["items"]
    raise typer.Exit(_EXIT_CODES.get(runs[0]["outcome"] or "", 0) if runs else 0)


def _follow_queue(
    client: "Client", path: str, screen: "JsonScreen | _TextScreen", begin: Callable[[], object] | None
) -> None:
    """The stream of a project has no end; the watching ends when its queue has stopped."""
    with closing(client.follow(f"{path}/queue/stream", on_lost=screen.show_outage)) as stream:
        for event in stream:
            if event.kind == "snapshot" and begin is not None:
                begin()
                begin = None
                screen.show_snapshot(event.model_copy(update={"data": client.request("GET", path)}))
                continue  # also if it has stopped by now: the events say how
            if event.kind == "snapshot":
                screen.show_snapshot(event)
                project = event.data
            else:
                screen.show_event(event)
                if event.kind != "queue":
                    continue
                project = client.request("GET", path)
            if not project["queue_state"]["is_running"]:
                screen.show_end(Event(n=event.n, kind="done", data=project, at=project["updated_at"]))
                return


class _TextScreen(LineScreen):
    def show_snapshot(self, event: Event) -> None:
        self.print_line(f"{sanitize(event.data['name'])}: {describe_state(event.data['queue_state'])}")

    show_end = show_snapshot
