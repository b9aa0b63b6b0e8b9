"""`callboard show`: one task, and how it came to be what it is."""

from typing import TYPE_CHECKING, Any

from deploy.cli.options import JsonOption, TaskId

if TYPE_CHECKING:
    from rich.console import RenderableType

    from state import Event, Task

_LINES = 10


def show(task_id: TaskId, as_json: JsonOption = False) -> None:
    """Show a task, its attempts and its history.

    With --json: all of the task, and its attempts.

    \b
    Examples:
      callboard show tq_0199b2...
      callboard show tq_0199b2... --json | jq .error
    """
    import state
    from deploy.cli.output import console, print_json, task_json
    from deploy.cli.store import open_store

    with open_store():
        task = state.get_task(task_id)
        attempts = state.get_attempts(task_id)
        events = [] if as_json else state.get_events(task_id, after=max(0, task.last_event - _LINES))
    if as_json:
        import pydantic_core

        print_json({**task_json(task), "attempts": pydantic_core.to_jsonable_python(attempts)})
        return
    screen = console()
    screen.print(_facts(task))
    if attempts:
        screen.print("\n[bold]Attempts[/]", _attempts(attempts), sep="\n")
    screen.print("[bold]History[/]" if task.last_event <= _LINES else f"[bold]History[/], last {_LINES} lines")
    screen.print(_history(events))


def _facts(task: "Task") -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    from deploy.cli.output import error_line, percent_text, plain, plain_json, relative, status_text

    facts: dict[str, str | Text] = {
        "Task": Text(task.task_id, style="bold"),
        "Actor": f"{plain(task.actor)} (queue {plain(task.queue)}, lane {task.lane}, priority {task.priority})",
        "Status": status_text(task.status),
        "Progress": f"{percent_text(task.progress)} {plain(task.progress.get('message') or '')}".strip(),
        "Attempt": f"{task.attempt} of {task.max_attempts}",
        "Submitted": relative(task.created_at),
    }
    if task.waiting is not None:
        facts["Waits"] = _why(task.waiting)
    if task.status == "scheduled":
        facts["Due"] = relative(task.available_at)
    if task.started_at is not None:
        facts["Started"] = relative(task.started_at)
    if task.finished_at is not None:
        facts["Ended"] = relative(task.finished_at)
    if task.worker_id is not None:
        facts["Worker"] = f"{task.worker_id} (last sign of life {relative(task.heartbeat_at)})"
    if task.cancel_requested is not None:
        facts["Asked to"] = task.cancel_requested
    if task.tenant is not None:
        facts["Tenant"] = plain(task.tenant)
    if task.usage["tokens"] or task.usage["cost"]:
        facts["Used"] = f"{task.usage['tokens']} tokens, cost {task.usage['cost']:g}"
    facts["Payload"] = plain_json(task.payload, 2000)
    if task.result is not None:
        facts["Result"] = plain_json(task.result, 4000)
    if task.error is not None:
        facts["Error"] = Text(error_line(task.error), style="red")
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bright_black", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts.items():
        grid.add_row(name, value if isinstance(value, Text) else Text(value))
    return grid


def _why(waiting: dict[str, Any]) -> str:
    from deploy.cli.output import duration, plain

    words = f"at {plain(waiting['gate'])}: {plain(waiting['reason'])}; number {waiting['position']} in line"
    eta = waiting["eta_seconds"]
    return words if eta is None else f"{words}, about {duration(float(eta))} to go"


def _attempts(attempts: list[dict[str, Any]]) -> "RenderableType":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from deploy.cli.output import duration, error_line, relative, status_text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("Attempt", "Outcome", "Started", "Took", "Worker", "Error"):
        table.add_column(heading, overflow="fold")
    for row in attempts:
        ended = row["finished_at"]
        table.add_row(
            str(row["attempt"]),
            status_text(row["outcome"] or "running"),
            relative(row["started_at"]),
            duration((ended - row["started_at"]).total_seconds()) if ended else "-",
            row["worker_id"],
            Text(error_line(row["error"])),
        )
    return table


def _history(events: "list[Event]") -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    from deploy.cli.output import relative
    from deploy.cli.wording import describe

    grid = Table.grid(padding=(0, 2))
    for event in events:
        grid.add_row(Text(str(event.n), style="bright_black"), relative(event.at), Text(describe(event)))
    return grid
