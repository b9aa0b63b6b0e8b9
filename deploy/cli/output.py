"""Output of the commands: JSON for programs; tables, colors and relative times for people."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic_core import to_jsonable_python
from rich.console import Console
from rich.table import Table
from rich.text import Text

from deploy.cli.listing import Listing
from deploy.cli.pages import Fetched
from taskclient import Progress, Task, TaskError

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
    print(json.dumps(value, indent=2, default=to_jsonable_python))


def print_json_line(value: Any) -> None:
    """Prints one document of a stream, and flushes, so that a reader gets it at once."""
    print(json.dumps(value), flush=True)


def dump_task(task: Task) -> dict[str, Any]:
    """The task as the server has sent it."""
    return task.model_dump(mode="json", exclude_unset=True)


def print_page(
    page: Fetched,
    tabulate: Callable[[list[dict[str, Any]]], Table],
    *,
    command: str,
    if_empty: str,
    as_json: bool,
) -> None:
    """Prints a part of a list, and how to get the next one."""
    if as_json:
        print_json({"items": page.items, "next_cursor": page.next_cursor})
        return
    if page.items:
        open_console().print(tabulate(page.items))
    else:
        print(if_empty)
    if page.next_cursor is not None:
        there = "There are more"
        if page.searched:
            tasks, until = page.searched["tasks"], format_relative(page.searched["until"])
            there = f"These are from the newest {tasks} tasks that were searched, back to {until}; older ones"
        print(f"{there}: callboard {command} --before {page.next_cursor} (with the same filters)")


def print_rows(
    rows: list[dict[str, Any]], tabulate: Callable[[list[dict[str, Any]]], Table], *, if_empty: str, as_json: bool
) -> None:
    """Prints a list as a whole."""
    print_page(Fetched(rows, None), tabulate, command="", if_empty=if_empty, as_json=as_json)


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


def parse_moment(moment: datetime | str) -> datetime:
    return datetime.fromisoformat(moment) if isinstance(moment, str) else moment


def format_relative(moment: datetime | str | None) -> str:
    if moment is None:
        return "-"
    moment = parse_moment(moment)
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
    """Returns the actor; for an agent's task, with the names of the agent and of the task type. A list leaves out the
    payload if it is large."""
    payload: Mapping[str, Any] = task.payload or {}
    agent, task_type = payload.get("agent_name"), payload.get("task_type")
    return sanitize(f"{task.actor} {agent}/{task_type}" if agent else task.actor)


def format_error(error: TaskError | Mapping[str, Any] | None) -> str:
    if isinstance(error, TaskError):
        error = error.model_dump()
    return sanitize(f"{error.get('type')}: {error.get('message')}") if error else ""


def format_percent(progress: Progress) -> str:
    return "" if progress.percent is None else f"{progress.percent:.0f} %"


def format_progress(progress: Progress) -> str:
    return f"{format_percent(progress)} {sanitize(progress.message or '')}".strip()
