"""How things look: JSON for programs; colors, words and relative times for people."""

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

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
    # Outcomes of attempts.
    "failed": "red",
    "lost": "red",
    "released": "blue",
}
_PIPE_WIDTH = 200  # nobody wants lines folded at 80 in a file


def console(*, stderr: bool = False) -> Console:
    plain = Console(stderr=stderr, highlight=False)
    return plain if plain.is_terminal else Console(stderr=stderr, highlight=False, width=_PIPE_WIDTH)


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2))


def print_json_line(value: Any) -> None:
    """One line of a stream; whoever reads it wants it now."""
    print(json.dumps(value), flush=True)


def task_json(task: Task) -> dict[str, Any]:
    return task.model_dump(mode="json")


def print_page(
    found: list[Task],
    limit: int,
    table: Callable[[list[Task]], Table],
    *,
    command: str,
    none: str,
    as_json: bool,
) -> None:
    """Newest first. One more than asked for was looked up, to see whether there are more."""
    tasks, more = found[:limit], len(found) > limit
    if as_json:
        cursor = tasks[-1].task_id if more else None
        print_json({"items": [task_json(task) for task in tasks], "next_cursor": cursor})
    elif not tasks:
        print(none)
    else:
        console().print(table(tasks))
        if more:
            print(f"There are more: callboard {command} --before {tasks[-1].task_id} (with the same filters)")


def is_terminal() -> bool:
    return sys.stdout.isatty()


def status_text(status: str) -> Text:
    return Text(status, style=_STYLES.get(status, ""))


def plain(text: object, limit: int | None = None) -> str:
    """Text from a task, made harmless for a terminal: one line, no control characters, not too long."""
    line = "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}"
        for character in " ".join(str(text).split())
    )
    return line if limit is None or len(line) <= limit else f"{line[: limit - 1]}…"


def plain_json(value: Any, limit: int | None = None) -> str:
    return plain(json.dumps(value, ensure_ascii=False), limit)


def relative(moment: datetime | None, now: datetime | None = None) -> str:
    if moment is None:
        return "-"
    seconds = ((now or datetime.now(UTC)) - moment).total_seconds()
    if abs(seconds) < 1:
        return "now"
    return f"{duration(seconds)} ago" if seconds > 0 else f"in {duration(-seconds)}"


def duration(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.1f} s"
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def error_line(error: dict[str, Any] | None, limit: int | None = None) -> str:
    return plain(f"{error.get('type')}: {error.get('message')}", limit) if error else ""


def percent_text(progress: dict[str, Any]) -> str:
    percent = progress.get("percent")
    return "" if percent is None else f"{percent:.0f} %"
