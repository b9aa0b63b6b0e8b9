"""Output of `callboard workflow`, and following a workflow on the terminal."""

from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table
from rich.text import Text

from deploy.cli.connection import API
from deploy.cli.exits import CANCELED, COMMAND_FAILED, INTERRUPTED
from deploy.cli.output import (
    format_error,
    format_relative,
    format_status,
    open_console,
    print_json,
    sanitize,
    sanitize_json,
    start_table,
)
from deploy.cli.watch.following import JsonScreen, LineScreen, Screen, follow
from taskclient import Event

if TYPE_CHECKING:
    from taskclient import Client

_EXIT_CODES = {"completed": 0, "failed": COMMAND_FAILED, "escalated": COMMAND_FAILED, "canceled": CANCELED}


def print_workflow(workflow: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(workflow)
        return
    console = open_console()
    title = f"{workflow['workflow_id']} {sanitize(workflow['name'])}"
    console.print(Text(title, style="bold"), format_status(workflow["status"]))
    if workflow["reason"]:
        console.print(Text(sanitize(workflow["reason"])))
    if escalation := workflow["escalation"]:
        console.print(Text(sanitize(f"Escalation: {escalation['to']} {escalation.get('note') or ''}")))
    console.print(_tabulate_steps(workflow["steps"]))


def print_new_status(workflow: dict[str, Any], *, as_json: bool) -> None:
    """Prints the result of a command that changes a workflow."""
    if as_json:
        print_json(workflow)
        return
    running = [step["key"] for step in workflow["steps"] if step["status"] == "running"]
    still = f"; still running: {', '.join(running)}" if running and workflow["status"] != "running" else ""
    print(f"{workflow['workflow_id']} is {workflow['status']}{still}.")


def tabulate_workflows(rows: list[dict[str, Any]]) -> Table:
    table = start_table()
    for heading in ("Workflow", "Name", "Status", "Steps", "Created"):
        table.add_column(heading, no_wrap=True)
    table.add_column("", no_wrap=True, overflow="ellipsis", ratio=1)
    for row in rows:
        counts = ", ".join(f"{count} {status}" for status, count in sorted(row["step_counts"].items()))
        table.add_row(
            row["workflow_id"], Text(sanitize(row["name"], 40)), format_status(row["status"]), counts,
            format_relative(row["created_at"]), Text(_say_where(row)),
        )  # fmt: skip
    return table


def _say_where(row: dict[str, Any]) -> str:
    if row["reason"]:
        return sanitize(row["reason"])
    return f"at {', '.join(row['current_steps'])}" if row["current_steps"] else ""


def watch_workflow(client: "Client", workflow_id: str, *, as_json: bool) -> None:
    """Shows the workflow until it ends, then exits with the code of its status. Ctrl-C ends only the watching."""
    screen: Screen = JsonScreen() if as_json else _TextScreen(open_console())
    try:
        final = follow(client, f"{API}/workflows/{workflow_id}", screen)
    except KeyboardInterrupt:
        again = f"callboard watch {workflow_id}"
        typer.echo(f"No longer watching; the workflow goes on. To continue: {again}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    raise typer.Exit(_EXIT_CODES[final["status"]])


class _TextScreen(LineScreen):
    def show_snapshot(self, event: Event) -> None:
        print_workflow(event.data, as_json=False)

    show_end = show_snapshot


def _tabulate_steps(steps: list[dict[str, Any]]) -> Table:
    table = start_table()
    for heading in ("Step", "Status", "Work", "After", "Task"):
        table.add_column(heading, no_wrap=heading != "After", overflow="fold")
    table.add_column("", no_wrap=True, overflow="ellipsis", ratio=1)
    for step in steps:
        work = "approval" if step["kind"] == "approval" else sanitize(f"{step['agent_name']}/{step['task_type']}")
        more = f" and {len(step['task_ids']) - 1} more" if len(step["task_ids"]) > 1 else ""
        table.add_row(
            step["key"], format_status(step["status"]), work, ", ".join(step["after"]),
            f"{step['task_id'] or ''}{more}", Text(_describe(step)),
        )  # fmt: skip
    return table


def _describe(step: dict[str, Any]) -> str:
    if step["decision"] is not None:
        note = f": {step['note']}" if step["note"] else ""
        return sanitize(f"{step['decision']} by {step['decided_by']}{note}")
    if step["error"] is not None:
        return format_error(step["error"])
    if step["status"] == "waiting":
        expires = f", expires {format_relative(step['expires_at'])}" if step["expires_at"] else ""
        return f"waits for a decision{expires}"
    return sanitize_json(step["result"], 200) if step["result"] is not None else ""
