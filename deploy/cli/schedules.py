"""Output of `callboard schedules`."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar
from zoneinfo import ZoneInfo

from pydantic import BaseModel
from rich.table import Table
from rich.text import Text

from deploy.cli.output import (
    format_relative,
    format_status,
    open_console,
    print_json,
    sanitize,
    sanitize_json,
    start_table,
)
from state.schedules.reads import Schedule, ScheduleRun

_Model = TypeVar("_Model", bound=BaseModel)


def print_page(
    models: Sequence[_Model], tabulate: Callable[[Sequence[_Model]], Table], *, if_empty: str, as_json: bool
) -> None:
    if as_json:
        print_json({"items": [model.model_dump(mode="json") for model in models], "next_cursor": None})
    elif not models:
        print(if_empty)
    else:
        open_console().print(tabulate(models))


def print_schedule(schedule: Schedule, *, as_json: bool) -> None:
    if as_json:
        print_json(schedule.model_dump(mode="json"))
    else:
        open_console().print(_tabulate_one(schedule))


def tabulate_schedules(schedules: Sequence[Schedule]) -> Table:
    table = start_table()
    for heading in ("Schedule", "Cron", "Next"):
        table.add_column(heading, no_wrap=True)
    table.add_column("Name", overflow="fold")
    table.add_column("Starts", overflow="fold")
    table.add_column("", overflow="fold")
    for each in schedules:
        cron = sanitize(each.cron if each.timezone == "UTC" else f"{each.cron} {each.timezone}")
        coming = Text("paused", style="yellow") if each.paused else Text(format_relative(each.next_at))
        error = Text(sanitize(each.last_error or "", 100), style="red")
        starts = Text(_format_work(each))
        table.add_row(each.schedule_id, Text(cron), coming, Text(sanitize(each.name)), starts, error)
    return table


def tabulate_runs(runs: Sequence[ScheduleRun]) -> Table:
    table = start_table()
    for heading in ("n", "Tick", "Outcome", "Task", "Status"):
        table.add_column(heading, no_wrap=True)
    table.add_column("", overflow="fold")
    for run in runs:
        missed = f"{run.missed} missed before it" if run.missed else ""
        asked = "" if run.tick or not run.asked_by else f"asked for by {run.asked_by}"
        notes = "; ".join(note for note in (run.reason, missed, asked) if note)
        table.add_row(
            str(run.n),
            "asked for" if run.tick is None else run.tick.isoformat(" ", "minutes"),
            format_status(run.outcome),
            run.task_id or "-",
            format_status(run.task_status or ""),
            Text(sanitize(notes)),
        )
    return table


def _tabulate_one(schedule: Schedule) -> Table:
    table = Table.grid(padding=(0, 2))
    fields = {
        "Schedule": schedule.schedule_id,
        "Name": schedule.name,
        "Tenant": schedule.tenant,
        "When": f"{schedule.cron}: {schedule.description} ({schedule.timezone})",
        "Starts": _format_work(schedule),
        "Payload": sanitize_json(schedule.payload, 500),
        "Missed ticks": {"skip": "start nothing", "one": "one start for all", "all": "each is made up for"}[
            schedule.catch_up
        ],
        "Overlap": {"allow": "allowed", "skip": "not while the last task has not ended"}[schedule.overlap],
        "Jitter": f"up to {schedule.jitter_seconds} s" if schedule.jitter_seconds else None,
        "Next": "paused" if schedule.paused else _format_ticks(schedule.next_ticks, schedule.timezone),
        "Last task": schedule.last_task_id,
        "Last error": schedule.last_error,
        "Declared": "in code" if schedule.declared_in_code else None,
    }
    for name, value in fields.items():
        if value:
            table.add_row(Text(name, style="bright_black"), Text("\n".join(map(sanitize, value.split("\n")))))
    return table


def _format_ticks(ticks: Sequence[datetime], timezone: str) -> str:
    zone = ZoneInfo(timezone)
    return "\n".join(tick.astimezone(zone).isoformat(" ", "minutes") for tick in ticks)


def _format_work(schedule: Schedule) -> str:
    agent, task_type = schedule.payload.get("agent_name"), schedule.payload.get("task_type")
    return sanitize(f"{schedule.actor} {agent}/{task_type}" if agent else schedule.actor)
