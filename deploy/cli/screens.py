"""Where `watch` shows a task: a live bar, plain lines, or JSON."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pydantic_core
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, TextColumn
from rich.progress import Task as Row
from rich.text import Text

from deploy.cli.following import Screen
from deploy.cli.output import (
    console,
    duration,
    error_line,
    percent_text,
    plain,
    plain_json,
    print_json_line,
    status_text,
    task_json,
)
from deploy.cli.wording import describe
from state import Event, Task


@contextmanager
def screen_for(as_json: bool) -> Iterator[Screen]:
    if as_json:
        yield JsonScreen()
        return
    terminal = console()
    if not terminal.is_terminal:
        yield LineScreen(terminal)
        return
    with BarScreen(terminal) as bar:
        yield bar


class JsonScreen:
    """The events of the HTTP stream, one a line."""

    def snapshot(self, task: Task) -> None:
        self._print(task.last_event, "snapshot", task_json(task), task.updated_at)

    def event(self, event: Event) -> None:
        self._print(event.n, event.kind, event.data, event.at)

    def away(self) -> None:
        pass

    def done(self, task: Task) -> None:
        self._print(task.last_event, "done", task_json(task), task.updated_at)

    def _print(self, n: int, kind: str, data: Any, at: datetime) -> None:
        print_json_line({"n": n, "kind": kind, "data": data, "at": pydantic_core.to_jsonable_python(at)})


class LineScreen:
    """For logs and pipes: what happens, one line each."""

    def __init__(self, terminal: Console) -> None:
        self._terminal = terminal
        self._away = False

    def snapshot(self, task: Task) -> None:
        progress = f"{percent_text(task.progress)} {plain(task.progress.get('message') or '')}"
        self._print(f"{task.task_id} {plain(task.actor)} is {task.status}: {progress}")

    def event(self, event: Event) -> None:
        self._away = False
        self._print(describe(event))

    def away(self) -> None:
        if not self._away:
            self._print("The database does not answer; waiting for it")
        self._away = True

    def done(self, task: Task) -> None:
        _print_end(self._terminal, task)

    def _print(self, line: str) -> None:
        self._terminal.print(Text(f"{datetime.now().astimezone():%H:%M:%S} {line}"), soft_wrap=True)


class BarScreen:
    """A bar that moves; what matters beyond it is printed above."""

    def __init__(self, terminal: Console) -> None:
        self._terminal = terminal
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.fields[status]}"),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[percent]:>5}"),
            _Clock(),
            TextColumn("{task.description}", markup=False),
            console=terminal,
            transient=True,
        )
        self._row = self._bar.add_task("", total=100, status="", percent="", since=None)

    def __enter__(self) -> "BarScreen":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def snapshot(self, task: Task) -> None:
        self._terminal.print(Text(f"{task.task_id} {plain(task.actor)}"))
        self._status(task.status, task.started_at if task.status == "running" else None)
        self._progress(task.progress)

    def event(self, event: Event) -> None:
        match event.kind:
            case "progress":
                self._progress(event.data)
            case "status":
                after = str(event.data.get("to"))
                self._status(after, event.at if after == "running" else None)
                if event.data.get("error") or event.data.get("reason"):
                    self._terminal.print(Text(describe(event), style="yellow"))
                    self._progress({"percent": 0})
            case _:
                self._terminal.print(Text(describe(event)))

    def away(self) -> None:
        self._bar.update(self._row, description="The database does not answer; waiting for it")

    def done(self, task: Task) -> None:
        self._bar.stop()
        _print_end(self._terminal, task)

    def _status(self, status: str, since: datetime | None) -> None:
        self._bar.update(self._row, status=status_text(status).markup, since=since, description="")

    def _progress(self, progress: dict[str, Any]) -> None:
        percent = progress.get("percent")
        self._bar.update(
            self._row,
            # Without a number the bar pulses.
            total=None if percent is None else 100,
            completed=percent or 0,
            percent=percent_text(progress),
            description=plain(progress.get("message") or "", 80),
        )


class _Clock(ProgressColumn):
    """How long the attempt has been running."""

    def render(self, task: Row) -> Text:
        since: datetime | None = task.fields["since"]
        seconds = (datetime.now(UTC) - since).total_seconds() if since else None
        return Text("" if seconds is None else duration(max(seconds, 0)), style="bright_black")


def _print_end(terminal: Console, task: Task) -> None:
    took = duration((task.finished_at - task.created_at).total_seconds()) if task.finished_at else ""
    attempts = f", attempt {task.attempt}" if task.attempt > 1 else ""
    terminal.print(status_text(task.status), Text(f"after {took}{attempts}"))
    if task.status == "completed" and task.result is not None:
        terminal.print(Text(plain_json(task.result, 4000)), soft_wrap=True)
    if task.status == "dead":
        terminal.print(Text(error_line(task.error), style="red"), soft_wrap=True)
        terminal.print(Text(f"callboard show {task.task_id} tells the whole story"))
