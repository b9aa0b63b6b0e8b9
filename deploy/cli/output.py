"""Output of the commands: JSON for programs; tables, colors and relative times for people."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pydantic_core
from rich.console import Console
from rich.table import Table
from rich.text import Text

from deploy.cli.listing import Listing
from state import Task

_STYLES = {
    "scheduled": "cyan",
    "queued": "blue",
    "waiting": "yellow",
    "running": "bold magenta",
    "paused": "yellow",
    "completed": "green",
    "canceled": "bright_black",
    "dead": "bold red",
    # Workflows and their steps.
    "pending": "cyan",
    "escalated": "bold red",
    "rejected": "red",
    "expired": "red",
    # Outcomes of attempts.
    "failed": "red",
    "lost": "red",
    "released": "blue",
}
_PIPE_WIDTH = 200  # in a file or a pipe, tables must not be folded at 80 columns


def open_console(*, stderr: bool = False) -> Console:
    opened = Console(stderr=stderr, highlight=False)
    return opened if opened.is_terminal else Console(stderr=stderr, highlight=False, width=_PIPE_WIDTH)


def start_table() -> Table:
    """An empty table in the style that all commands share."""
    return Listing()


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2))


def print_json_line(value: Any) -> None:
    """Prints one document of a stream, and flushes, so that a reader gets it at once."""
    print(json.dumps(value), flush=True)


def dump_task(task: Task) -> dict[str, Any]:
    return task.model_dump(mode="json")


def print_task_page(
    found: list[Task],
    limit: int,
    tabulate: Callable[[list[Task]], Table],
    *,
    command: str,
    if_empty: str,
    as_json: bool,
) -> None:
    """Prints at most `limit` tasks. `found` has one more if there is another page."""
    tasks, more = found[:limit], len(found) > limit
    cursor = tasks[-1].task_id if more else None
    if as_json:
        print_json({"items": [dump_task(task) for task in tasks], "next_cursor": cursor})
    elif not tasks:
        print(if_empty)
    else:
        open_console().print(tabulate(tasks))
        if more:
            print(f"There are more: callboard {command} --before {cursor} (with the same filters)")


def print_rows(
    rows: list[dict[str, Any]], tabulate: Callable[[list[dict[str, Any]]], Table], *, if_empty: str, as_json: bool
) -> None:
    """Prints a list that has no pages."""
    if as_json:
        print_json({"items": pydantic_core.to_jsonable_python(rows), "next_cursor": None})
    elif not rows:
        print(if_empty)
    else:
        open_console().print(tabulate(rows))


def print_new_status(task: Task, *, as_json: bool) -> None:
    """Prints the result of a command that changes a task."""
    if as_json:
        print_json(dump_task(task))
    elif task.status == "running":
        follow = f"`callboard watch {task.task_id}` follows it."
        print(f"{task.task_id} is running; its worker has been asked to stop. {follow}")
    else:
        print(f"{task.task_id} is {task.status}.")


def format_status(status: str) -> Text:
    return Text(status, style=_STYLES.get(status, ""))


def sanitize(text: object, limit: int | None = None) -> str:
    """Makes text from a task safe for a terminal: one line, no control characters, at most `limit` characters."""
    line = "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}"
        for character in " ".join(str(text).split())
    )
    return line if limit is None or len(line) <= limit else f"{line[: limit - 1]}…"


def sanitize_json(value: Any, limit: int | None = None) -> str:
    return sanitize(json.dumps(value, ensure_ascii=False), limit)


def format_relative(moment: datetime | None) -> str:
    if moment is None:
        return "-"
    seconds = (datetime.now(UTC) - moment).total_seconds()
    if abs(seconds) < 1:
        return "now"
    return f"{format_duration(seconds)} ago" if seconds > 0 else f"in {format_duration(-seconds)}"


def format_duration(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.1f} s"
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def format_actor(task: Task) -> str:
    """Returns the actor; for an agent's task, with the names of the agent and of the task type."""
    agent, task_type = task.payload.get("agent_name"), task.payload.get("task_type")
    return sanitize(f"{task.actor} {agent}/{task_type}" if agent else task.actor)


def format_error(error: dict[str, Any] | None) -> str:
    return sanitize(f"{error.get('type')}: {error.get('message')}") if error else ""


def format_percent(progress: dict[str, Any]) -> str:
    percent = progress.get("percent")
    return "" if percent is None else f"{percent:.0f} %"


def format_progress(progress: dict[str, Any]) -> str:
    return f"{format_percent(progress)} {sanitize(progress.get('message') or '')}".strip()
