"""Output of `callboard workflow`, and following a workflow on the terminal."""

from datetime import datetime
from typing import Any

import pydantic_core
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from deploy.cli.exits import CANCELED, COMMAND_FAILED, INTERRUPTED
from deploy.cli.output import (
    format_error,
    format_relative,
    format_status,
    open_console,
    print_json,
    print_json_line,
    sanitize,
    sanitize_json,
    start_table,
)
from deploy.cli.watch.following import Screen, follow
from deploy.cli.watch.wording import describe
from state import Event
from state.workflows import StoredStep, StoredWorkflow, get_workflow
from state.workflows.reads import ListedWorkflow

_EXIT_CODES = {"completed": 0, "failed": COMMAND_FAILED, "escalated": COMMAND_FAILED, "canceled": CANCELED}


def print_workflow(workflow: StoredWorkflow, *, as_json: bool) -> None:
    if as_json:
        print_json(workflow.model_dump(mode="json"))
        return
    console = open_console()
    console.print(
        Text(f"{workflow.workflow_id} {sanitize(workflow.name)}", style="bold"), format_status(workflow.status)
    )
    if workflow.reason:
        console.print(Text(sanitize(workflow.reason)))
    if workflow.escalation is not None:
        console.print(Text(sanitize(f"Escalation: {workflow.escalation.to} {workflow.escalation.note or ''}")))
    console.print(_tabulate_steps(workflow.steps))


def print_new_status(workflow: StoredWorkflow, *, as_json: bool) -> None:
    """Prints the result of a command that changes a workflow."""
    if as_json:
        print_json(workflow.model_dump(mode="json"))
        return
    running = [step.key for step in workflow.steps if step.status == "running"]
    still = f"; still running: {', '.join(running)}" if running and workflow.status != "running" else ""
    print(f"{workflow.workflow_id} is {workflow.status}{still}.")


def print_list(found: list[ListedWorkflow], limit: int, *, as_json: bool) -> None:
    """Prints at most `limit` workflows. `found` has one more if there is another page."""
    shown, more = found[:limit], len(found) > limit
    cursor = shown[-1].workflow_id if more else None
    if as_json:
        print_json({"items": [each.model_dump(mode="json") for each in shown], "next_cursor": cursor})
        return
    if not shown:
        print("No workflows.")
        return
    table = start_table()
    for heading in ("Workflow", "Name", "Status", "Steps", "Created"):
        table.add_column(heading, no_wrap=True)
    table.add_column("", no_wrap=True, overflow="ellipsis", ratio=1)
    for each in shown:
        counts = ", ".join(f"{count} {status}" for status, count in sorted(each.step_counts.items()))
        table.add_row(
            each.workflow_id, Text(sanitize(each.name, 40)), format_status(each.status), counts,
            format_relative(each.created_at), Text(sanitize(each.reason or "")),
        )  # fmt: skip
    open_console().print(table)
    if more:
        print(f"There are more: callboard workflow list --before {cursor} (with the same filters)")


def watch_workflow(workflow_id: str, *, as_json: bool) -> None:
    """Shows the workflow until it ends, then exits with the code of its status. Ctrl-C ends only the watching."""
    screen: Screen[StoredWorkflow] = _JsonScreen() if as_json else _TextScreen(open_console())
    try:
        final = follow(workflow_id, get_workflow, screen)
    except KeyboardInterrupt:
        again = f"callboard workflow watch {workflow_id}"
        typer.echo(f"No longer watching; the workflow goes on. To continue: {again}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    raise typer.Exit(_EXIT_CODES[final.status])


class _JsonScreen:
    """Prints the same events as the HTTP stream, one JSON document each."""

    def show_snapshot(self, workflow: StoredWorkflow) -> None:
        self._print(workflow.last_event, "snapshot", workflow.model_dump(mode="json"), workflow.updated_at)

    def show_event(self, event: Event) -> None:
        self._print(event.n, event.kind, event.data, event.at)

    def show_outage(self) -> None:
        pass

    def show_end(self, workflow: StoredWorkflow) -> None:
        self._print(workflow.last_event, "done", workflow.model_dump(mode="json"), workflow.updated_at)

    def _print(self, n: int, kind: str, data: Any, at: datetime) -> None:
        print_json_line({"n": n, "kind": kind, "data": data, "at": pydantic_core.to_jsonable_python(at)})


class _TextScreen:
    """Prints each event with its time."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._in_outage = False

    def show_snapshot(self, workflow: StoredWorkflow) -> None:
        print_workflow(workflow, as_json=False)

    def show_event(self, event: Event) -> None:
        self._in_outage = False
        self._print(describe(event))

    def show_outage(self) -> None:
        if not self._in_outage:
            self._print("The database does not answer; waiting for it")
        self._in_outage = True

    def show_end(self, workflow: StoredWorkflow) -> None:
        print_workflow(workflow, as_json=False)

    def _print(self, text: str) -> None:
        self._console.print(Text(f"{datetime.now().astimezone():%H:%M:%S} {text}"), soft_wrap=True)


def _tabulate_steps(steps: list[StoredStep]) -> Table:
    table = start_table()
    for heading in ("Step", "Status", "Work", "After", "Task"):
        table.add_column(heading, no_wrap=heading != "After", overflow="fold")
    table.add_column("", no_wrap=True, overflow="ellipsis", ratio=1)
    for step in steps:
        work = "approval" if step.kind == "approval" else sanitize(f"{step.agent_name}/{step.task_type}")
        more = f" and {len(step.task_ids) - 1} more" if len(step.task_ids) > 1 else ""
        table.add_row(
            step.key, format_status(step.status), work, ", ".join(step.after), f"{step.task_id or ''}{more}",
            Text(_describe(step)),
        )  # fmt: skip
    return table


def _describe(step: StoredStep) -> str:
    if step.decision is not None:
        return sanitize(f"{step.decision} by {step.decided_by}{f': {step.note}' if step.note else ''}")
    if step.error is not None:
        return format_error(step.error)
    if step.status == "waiting":
        expires = f", expires {format_relative(step.expires_at)}" if step.expires_at else ""
        return f"waits for a decision{expires}"
    return sanitize_json(step.result, 200) if step.result is not None else ""
