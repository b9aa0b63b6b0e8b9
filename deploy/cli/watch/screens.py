"""The three ways in which `watch` shows a task: JSON, plain text, or a live progress bar."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, SpinnerColumn, TextColumn
from rich.progress import Progress as Bar
from rich.progress import Task as Row
from rich.text import Text

from deploy.cli.output import (
    format_duration,
    format_error,
    format_percent,
    format_progress,
    format_status,
    open_console,
    sanitize,
    sanitize_json,
)
from deploy.cli.watch.following import OUTAGE, JsonScreen, LineScreen, Screen
from deploy.cli.watch.wording import describe
from taskclient import Event, Progress, Task


@contextmanager
def open_screen(as_json: bool) -> Iterator[Screen]:
    if as_json:
        yield JsonScreen()
        return
    console = open_console()
    if not console.is_terminal:
        yield TextScreen(console)
        return
    with BarScreen(console) as bar:
        yield bar


class TextScreen(LineScreen):
    """Prints each event with its time, for logs and pipes."""

    def show_snapshot(self, event: Event) -> None:
        task = event.task
        self.print_line(f"{task.task_id} {sanitize(task.actor)} is {task.status}: {format_progress(task.progress)}")

    def show_end(self, event: Event) -> None:
        _print_end(self._console, event.task)


class BarScreen:
    """A live progress bar. Events that the bar cannot show are printed above it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Bar(
            SpinnerColumn(),
            TextColumn("{task.fields[status]}"),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[percent]:>5}"),
            _AttemptTimeColumn(),
            TextColumn("{task.description}", markup=False),
            console=console,
            transient=True,
        )
        self._row = self._bar.add_task("", total=100, status="", percent="", since=None)

    def __enter__(self) -> "BarScreen":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def show_snapshot(self, event: Event) -> None:
        task = event.task
        self._console.print(Text(f"{task.task_id} {sanitize(task.actor)}"))
        self._update_status(task.status, task.started_at if task.status == "running" else None)
        self._update_progress(task.progress)

    def show_event(self, event: Event) -> None:
        match event.kind:
            case "progress":
                self._update_progress(Progress.model_validate(event.data))
            case "status":
                after = str(event.data.get("to"))
                self._update_status(after, event.at if after == "running" else None)
                if event.data.get("error") or event.data.get("reason"):
                    self._console.print(Text(describe(event), style="yellow"))
                    self._update_progress(Progress(percent=0))
            case _:
                self._console.print(Text(describe(event)))

    def show_outage(self) -> None:
        self._bar.update(self._row, description=OUTAGE)

    def show_end(self, event: Event) -> None:
        self._bar.stop()
        _print_end(self._console, event.task)

    def _update_status(self, status: str, since: datetime | None) -> None:
        self._bar.update(self._row, status=format_status(status).markup, since=since, description="")

    def _update_progress(self, progress: Progress) -> None:
        percent = progress.percent
        self._bar.update(
            self._row,
            total=None if percent is None else 100,  # a bar without a total pulses
            completed=percent or 0,
            percent=format_percent(progress),
            description=sanitize(progress.message or "", 80),
        )


class _AttemptTimeColumn(ProgressColumn):
    """The time since the attempt started."""

    def render(self, task: Row) -> Text:
        since: datetime | None = task.fields["since"]
        seconds = (datetime.now(UTC) - since).total_seconds() if since else None
        return Text("" if seconds is None else format_duration(max(seconds, 0)), style="bright_black")


def _print_end(console: Console, task: Task) -> None:
    took = format_duration((task.finished_at - task.created_at).total_seconds()) if task.finished_at else ""
    attempts = f", attempt {task.attempt}" if task.attempt > 1 else ""
    console.print(format_status(task.status), Text(f"after {took}{attempts}"))
    if task.status == "completed" and task.result is not None:
        console.print(Text(sanitize_json(task.result, 4000)), soft_wrap=True)
    if task.status == "dead":
        console.print(Text(format_error(task.error), style="red"), soft_wrap=True)
        console.print(Text(f"For its attempts and history: callboard show {task.task_id}"))
