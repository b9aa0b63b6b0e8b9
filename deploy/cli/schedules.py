"""Output of `callboard schedules`."""

from collections.abc import Sequence
from typing import Any
from zoneinfo import ZoneInfo

from rich.table import Table
from rich.text import Text

from deploy.cli.output import format_relative, format_status, parse_moment, sanitize, sanitize_json, start_table

Row = dict[str, Any]

_CATCH_UP = {"skip": "start nothing", "one": "one start for all", "all": "each is made up for"}
_OVERLAP = {"allow": "allowed", "skip": "not while the last task has not ended"}


def tabulate_schedules(schedules: Sequence[Row]) -> Table:
    table = start_table()
    for heading in ("Schedule", "Cron", "Next"):
        table.add_column(heading, no_wrap=True)
    for heading in ("Name", "Starts", ""):
        table.add_column(heading, overflow="fold")
    for each in schedules:
        zone = "" if each["timezone"] == "UTC" else f" {each['timezone']}"
        table.add_row(
            each["schedule_id"],
            Text(sanitize(each["cron"] + zone)),
            Text("paused", style="yellow") if each["paused"] else Text(format_relative(each["next_at"])),
            Text(sanitize(each["name"])),
            Text(_format_work(each)),
            Text(sanitize(each["last_error"] or "", 100), style="red"),
        )
    return table


def tabulate_runs(runs: Sequence[Row]) -> Table:
    table = start_table()
    for heading in ("n", "Tick", "Outcome", "Task", "Status"):
        table.add_column(heading, no_wrap=True)
    table.add_column("", overflow="fold")
    for run in runs:
        missed = f"{run['missed']} missed before it" if run["missed"] else ""
        asked = f"asked for by {run['asked_by']}" if run["asked_by"] else ""
        notes = "; ".join(note for note in (run["reason"], missed, asked) if note)
        table.add_row(
            str(run["n"]),
            "asked for" if run["tick"] is None else parse_moment(run["tick"]).isoformat(" ", "minutes"),
            format_status(run["outcome"]),
            run["task_id"] or "-",
            format_status(run["task_status"] or ""),
            Text(sanitize(notes)),
        )
    return table


def tabulate_schedule(schedule: Row) -> Table:
    table = Table.grid(padding=(0, 2))
    fields = {
        "Schedule": schedule["schedule_id"],
        "Name": schedule["name"],
        "Tenant": schedule["tenant"],
        "When": f"{schedule['cron']}: {schedule['description']} ({schedule['timezone']})",
        "Starts": _format_work(schedule),
        "Payload": sanitize_json(schedule["payload"], 500),
        "Missed ticks": _CATCH_UP[schedule["catch_up"]],
        "Overlap": _OVERLAP[schedule["overlap"]],
        "Jitter": f"up to {schedule['jitter_seconds']} s" if schedule["jitter_seconds"] else None,
        "Next": "paused" if schedule["paused"] else format_ticks(schedule["next_ticks"], schedule["timezone"]),
        "Last task": schedule["last_task_id"] and f"{schedule['last_task_id']} {schedule['last_task_status']}",
        "Last error": schedule["last_error"],
        "Declared": "in code" if schedule["declared_in_code"] else None,
    }
    for name, value in fields.items():
        if value:
            table.add_row(Text(name, style="bright_black"), Text("\n".join(map(sanitize, value.split("\n")))))
    return table


def format_ticks(ticks: Sequence[str], timezone: str) -> str:
    zone = ZoneInfo(timezone)
    return "\n".join(parse_moment(tick).astimezone(zone).isoformat(" ", "minutes") for tick in ticks)


def _format_work(schedule: Row) -> str:
    agent, task_type = schedule["payload"].get("agent_name"), schedule["payload"].get("task_type")
    return sanitize(f"{schedule['actor']} {agent}/{task_type}" if agent else schedule["actor"])
