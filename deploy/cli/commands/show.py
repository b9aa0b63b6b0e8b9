"""`callboard show`: shows one task with its attempts and its history."""

from typing import TYPE_CHECKING

from deploy.cli.options import JsonOption, TaskId

if TYPE_CHECKING:
    from rich.console import RenderableType

    from taskclient import Attempt, Event, Task, Waiting

_MAX_EVENTS = 10


def show(task_id: TaskId, as_json: JsonOption = False) -> None:
    """Show a task, its attempts and its history.

    With --json, it prints the whole task and its attempts.

    \b
    Examples:
      callboard show tq_0199b2...
      callboard show tq_0199b2... --json | jq .error
    """
    from contextlib import closing

    from deploy.cli.connection import open_client
    from deploy.cli.output import dump_task, open_console, print_json

    with open_client() as client:
        with closing(client.stream(task_id)) as stream:
            snapshot = next(stream)  # the task, and the number of its last event
        task, last_event = snapshot.task, snapshot.n
        attempts = client.attempts(task_id)
        events = [] if as_json else list(client.events(task_id, after=max(0, last_event - _MAX_EVENTS)))
    if as_json:
        print_json({**dump_task(task), "attempts": [each.model_dump(mode="json") for each in attempts]})
        return
    console = open_console()
    console.print(_tabulate_fields(task))
    if attempts:
        console.print("\n[bold]Attempts[/]", _tabulate_attempts(attempts), sep="\n")
    console.print("[bold]History[/]" if last_event <= _MAX_EVENTS else f"[bold]History[/], last {_MAX_EVENTS} events")
    console.print(_tabulate_events(events))


def _tabulate_fields(task: "Task") -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    from deploy.cli.output import (
        format_error,
        format_progress,
        format_relative,
        format_status,
        sanitize,
        sanitize_json,
    )

    fields: dict[str, str | Text] = {
        "Task": Text(task.task_id, style="bold"),
        "Actor": f"{sanitize(task.actor)} (queue {sanitize(task.queue)}, lane {task.lane}, priority {task.priority})",
        "Status": format_status(task.status),
        "Progress": format_progress(task.progress),
        "Attempt": f"{task.attempt} of {task.max_attempts}",
        "Submitted": format_relative(task.created_at),
    }
    if task.waiting is not None:
        fields["Waits"] = _describe_waiting(task.waiting)
    if task.status == "scheduled":
        fields["Due"] = format_relative(task.available_at)
    if task.started_at is not None:
        fields["Started"] = format_relative(task.started_at)
    if task.finished_at is not None:
        fields["Ended"] = format_relative(task.finished_at)
    if task.worker_id is not None:
        fields["Worker"] = f"{task.worker_id} (last heartbeat {format_relative(task.heartbeat_at)})"
    if task.cancel_requested is not None:
        fields["Requested"] = task.cancel_requested
    if task.tenant is not None:
        fields["Tenant"] = sanitize(task.tenant)
    if task.usage.tokens or task.usage.cost:
        fields["Used"] = f"{task.usage.tokens} tokens, cost {task.usage.cost:g}"
    fields["Payload"] = sanitize_json(task.payload, 2000)
    if task.result is not None:
        fields["Result"] = sanitize_json(task.result, 4000)
    if task.error is not None:
        fields["Error"] = Text(format_error(task.error), style="red")
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bright_black", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in fields.items():
        grid.add_row(name, value if isinstance(value, Text) else Text(value))
    return grid


def _describe_waiting(waiting: "Waiting") -> str:
    from deploy.cli.output import format_duration, sanitize

    words = f"at {sanitize(waiting.gate)}: {sanitize(waiting.reason)}; number {waiting.position} in line"
    eta = waiting.eta_seconds
    return words if eta is None else f"{words}, about {format_duration(eta)} to go"


def _tabulate_attempts(attempts: "list[Attempt]") -> "RenderableType":
    from rich.text import Text

    from deploy.cli.output import format_duration, format_error, format_relative, format_status, start_table

    table = start_table()
    for heading in ("Attempt", "Outcome", "Started", "Took", "Worker", "Error"):
        table.add_column(heading, overflow="fold")
    for each in attempts:
        ended = each.finished_at
        table.add_row(
            str(each.attempt),
            format_status(each.outcome or "running"),
            format_relative(each.started_at),
            format_duration((ended - each.started_at).total_seconds()) if ended else "-",
            each.worker_id,
            Text(format_error(each.error)),
        )
    return table


def _tabulate_events(events: "list[Event]") -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    from deploy.cli.output import format_relative
    from deploy.cli.watch.wording import describe

    grid = Table.grid(padding=(0, 2))
    for event in events:
        grid.add_row(Text(str(event.n), style="bright_black"), format_relative(event.at), Text(describe(event)))
    return grid
