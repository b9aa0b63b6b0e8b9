"""Input and output of `callboard project`, and following a queue on the terminal."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import pydantic_core
import typer
from pydantic import BaseModel
from rich.table import Table
from rich.text import Text

from deploy.cli.exits import BAD_INPUT, CANCELED, COMMAND_FAILED, INTERRUPTED, Failure
from deploy.cli.output import (
    format_duration,
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
from deploy.cli.payloads import read_payload
from deploy.cli.watch.following import follow
from deploy.cli.watch.wording import describe
from state import Event
from state.projects.items import NewItem
from state.projects.reads import Item, Project, QueueState, Run, get_project, list_runs

_Model = TypeVar("_Model", bound=BaseModel)
_ITEM_FIELDS = ("title", "agent_name", "task_type", "input", "priority")
_EXIT_CODES = {"dead": COMMAND_FAILED, "canceled": CANCELED}


def read_items(
    file: str | None,
    title: str | None,
    agent: str | None,
    task_type: str | None,
    text: str | None,
    priority: str | None,
) -> list[NewItem]:
    if file is None:
        if title is None or agent is None or task_type is None:
            raise Failure(BAD_INPUT, "Give a file, or --title, --agent and --task-type.")
        return [NewItem(title, agent, task_type, read_payload(text, []), parse_priority(priority))]
    body = read_payload(file if file == "-" else f"@{file}", [])
    items = body.get("items")
    if not isinstance(items, list) or set(body) != {"items"}:
        raise Failure(BAD_INPUT, 'The file must be a JSON object {"items": [...]}.')
    return [_read_item(number, item) for number, item in enumerate(items)]


def _read_item(number: int, item: Any) -> NewItem:
    if (
        not isinstance(item, dict)
        or not set(item) <= set(_ITEM_FIELDS)
        or not {"title", "agent_name", "task_type"} <= set(item)
    ):
        raise Failure(BAD_INPUT, f"items.{number}: must be an object with {', '.join(_ITEM_FIELDS)}.")
    return NewItem(**item)


def parse_priority(text: str | None) -> int | str | None:
    """A number, or the name, which the verbs check."""
    return int(text) if text is not None and text.isascii() and text.isdecimal() else text


def print_model(model: BaseModel) -> None:
    print_json(model.model_dump(mode="json"))


def print_models(
    models: Sequence[_Model], tabulate: Callable[[Sequence[_Model]], Table], *, if_empty: str, as_json: bool
) -> None:
    if as_json:
        print_json({"items": [model.model_dump(mode="json") for model in models], "next_cursor": None})
    elif not models:
        print(if_empty)
    else:
        open_console().print(tabulate(models))


def print_state(state: QueueState, *, as_json: bool) -> None:
    if as_json:
        print_model(state)
    else:
        print(describe_state(state))


def describe_state(state: QueueState) -> str:
    if not state.is_running:
        words = f"stopped {format_relative(state.stopped_at)}" if state.stopped_at else "never started"
        return f"{words}; last error: {sanitize(state.last_error)}" if state.last_error else words
    words = f"running ({state.mode}) for {format_duration(state.elapsed_seconds or 0)}, run {state.current_run_id}"
    if state.paused:
        words += " is paused"
    return f"{words}; stops after this item" if state.should_stop else words


def tabulate_projects(projects: Sequence[Project]) -> Table:
    table = start_table()
    for heading in ("Project", "Name", "Pending", "Completed", "Failed"):
        table.add_column(heading, no_wrap=True)
    table.add_column("Queue", no_wrap=True, overflow="ellipsis", ratio=1)
    for each in projects:
        counts = (str(count) for count in (each.items.pending, each.items.completed, each.items.failed))
        table.add_row(each.project_id, Text(sanitize(each.name, 40)), *counts, Text(describe_state(each.queue_state)))
    return table


def tabulate_project(project: Project) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bright_black", no_wrap=True)
    grid.add_column(overflow="fold")
    counts = ", ".join(f"{count} {status}" for status, count in project.items.model_dump().items())
    fields = {
        "Project": project.project_id,
        "Name": sanitize(project.name),
        "Tenant": sanitize(project.tenant or "-"),
        "Queue": describe_state(project.queue_state),
        "Items": counts,
        "Created": format_relative(project.created_at),
    }
    for name, value in fields.items():
        grid.add_row(name, Text(value))
    return grid


def tabulate_items(items: Sequence[Item]) -> Table:
    table = start_table()
    for heading in ("Item", "Title", "Agent", "Priority", "Status", "Runs"):
        table.add_column(heading, no_wrap=True)
    table.add_column("", no_wrap=True, overflow="ellipsis", ratio=1)
    for each in items:
        note = format_error(each.error) or ("" if each.result is None else sanitize_json(each.result, 200))
        work = Text(sanitize(f"{each.agent_name}/{each.task_type}"))
        title, status = Text(sanitize(each.title, 40)), format_status(each.status)
        table.add_row(each.item_id, title, work, str(each.priority), status, str(each.runs), Text(note))
    return table


def tabulate_runs(runs: Sequence[Run]) -> Table:
    table = start_table()
    for heading in ("Run", "Mode", "Status", "Started", "Took", "Item"):
        table.add_column(heading, no_wrap=True)
    table.add_column("Queue stopped", no_wrap=True, overflow="ellipsis", ratio=1)
    for each in runs:
        took = "-" if each.seconds is None else format_duration(each.seconds)
        status = format_status(each.outcome or each.status or "-")
        started, item = format_relative(each.started_at), Text(sanitize(each.title or "-", 40))
        table.add_row(each.run_id, each.mode, status, started, took, item, Text(sanitize(each.reason or "")))
    return table


@dataclass(frozen=True, slots=True)
class _Watched:
    """A project, watched until its queue stops."""

    project: Project

    @property
    def last_event(self) -> int:
        return self.project.last_event

    @property
    def finished(self) -> bool:
        return not self.project.queue_state.is_running


def watch_queue(project_id: str, *, as_json: bool) -> None:
    """Shows the queue until it stops, then exits with the code of its last run. Ctrl-C ends only the watching."""
    try:
        follow(project_id, lambda its_id: _Watched(get_project(its_id)), _Screen(as_json))
    except KeyboardInterrupt:
        again = f"callboard project watch {project_id}"
        typer.echo(f"No longer watching; the queue goes on. To continue: {again}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    last = list_runs(project_id, limit=1)
    raise typer.Exit(_EXIT_CODES.get(last[0].outcome or "", 0) if last else 0)


class _Screen:
    """Prints each event with its time; with `as_json`, the same events as the HTTP stream."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._in_outage = False

    def show_snapshot(self, watched: _Watched) -> None:
        self._show_state("snapshot", watched.project)

    def show_event(self, event: Event) -> None:
        self._in_outage = False
        if self._as_json:
            self._print_json(event.n, event.kind, event.data, event.at)
        else:
            self._print(describe(event))

    def show_outage(self) -> None:
        if not self._in_outage and not self._as_json:
            self._print("The database does not answer; waiting for it")
        self._in_outage = True

    def show_end(self, watched: _Watched) -> None:
        self._show_state("done", watched.project)

    def _show_state(self, kind: str, project: Project) -> None:
        if self._as_json:
            self._print_json(project.last_event, kind, project.model_dump(mode="json"), project.updated_at)
        else:
            self._print(f"{sanitize(project.name)}: {describe_state(project.queue_state)}")

    def _print(self, text: str) -> None:
        open_console().print(Text(f"{datetime.now().astimezone():%H:%M:%S} {text}"), soft_wrap=True)

    def _print_json(self, n: int, kind: str, data: Any, at: datetime) -> None:
        print_json_line({"n": n, "kind": kind, "data": data, "at": pydantic_core.to_jsonable_python(at)})
