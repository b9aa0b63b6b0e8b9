"""Schedules and their runs as clients see them, and how they are read."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from state.access.caller import SYSTEM, Caller
from state.database import Row, fetch, retrying
from state.errors import ScheduleNotFound
from state.schedules.definition import CatchUp, Definition, Overlap
from state.schedules.timetable import Timetable
from state.tasks.reads import DEFAULT_LIMIT

PREVIEW = 5  # next ticks that a schedule shows

_DEFINED = ("name", "tenant", "cron", "timezone", "actor", "payload", "target", "catch_up", "overlap", "jitter_seconds")


_fetch = retrying(fetch)


class Schedule(BaseModel):
    schedule_id: str
    name: str
    tenant: str | None
    cron: str
    timezone: str
    description: str  # the cron expression in words
    actor: str
    payload: dict[str, Any]
    queue: str
    priority: int
    max_attempts: int
    target: str | None
    catch_up: CatchUp
    overlap: Overlap
    jitter_seconds: int
    paused: bool
    next_at: datetime | None  # None while it is paused
    next_ticks: list[datetime]
    last_tick: datetime | None
    last_task_id: str | None
    last_task_status: str | None
    last_task_at: datetime | None  # when it was started
    last_error: str | None
    runs: int
    declared_in_code: bool
    created_by: str | None
    created_at: datetime
    updated_at: datetime

    @classmethod
    def from_row(cls, row: Row) -> "Schedule":
        timetable = Timetable(row["cron"], row["timezone"])
        coming = row["next_at"]
        ticks = [] if coming is None else [coming, *timetable.list_next(coming, PREVIEW - 1)]
        return cls.model_validate({
            **row,
            "schedule_id": row["id"],
            "description": timetable.describe(),
            "next_ticks": ticks,
            "last_task_id": row["last_task"],
            "runs": row["last_run"],
            "declared_in_code": row["declared"] is not None,
        })  # fmt: skip


class TickPreview(BaseModel):
    """When something would be due."""

    cron: str
    timezone: str
    description: str = Field(description="The expression in words.")
    next_ticks: list[datetime]


class ScheduleRun(BaseModel):
    """What became of a tick, or of a run that somebody has asked for (`tick` is None)."""

    n: int
    schedule_id: str
    tick: datetime | None
    outcome: Literal["started", "skipped", "failed"]
    task_id: str | None
    task_status: str | None
    missed: int
    reason: str | None
    asked_by: str | None
    created_at: datetime


def preview_ticks(cron: str, timezone: str = "UTC") -> TickPreview:
    """Says what an expression means, and when it is due next. Raises InvalidPayload."""
    timetable = Timetable(cron, timezone)
    [row] = _fetch("moment_before", {"seconds": 0})
    first = timetable.find_next(row["moment"])  # it may never be due
    ticks = [first, *timetable.list_next(first, PREVIEW - 1)]
    return TickPreview(cron=cron, timezone=timezone, description=timetable.describe(), next_ticks=ticks)


def get_schedule(schedule_id: str, *, caller: Caller = SYSTEM) -> Schedule:
    return Schedule.from_row(read_row(schedule_id, caller=caller))


@retrying
def list_schedules(
    *, tenant: str | None = None, before: str | None = None, limit: int = DEFAULT_LIMIT, caller: Caller = SYSTEM
) -> list[Schedule]:
    """Newest first. `before`: the last id of the previous page."""
    wanted = {"id": None, "tenant": tenant, "before": before, "limit": limit, "scope": caller.tenant}
    return [Schedule.from_row(row) for row in fetch("schedules", wanted)]


@retrying
def list_runs(
    schedule_id: str, *, before: int | None = None, limit: int = DEFAULT_LIMIT, caller: Caller = SYSTEM
) -> list[ScheduleRun]:
    """Newest first. `before`: the last n of the previous page."""
    read_row(schedule_id, caller=caller)
    rows = fetch("schedule_runs", {"schedule_id": schedule_id, "before": before, "limit": limit})
    return [ScheduleRun.model_validate(row) for row in rows]


@retrying
def read_row(schedule_id: str, *, caller: Caller = SYSTEM) -> Row:
    wanted = {"id": schedule_id, "tenant": None, "before": None, "limit": 1, "scope": caller.tenant}
    rows = fetch("schedules", wanted)
    if not rows:
        raise ScheduleNotFound(schedule_id)
    return rows[0]


def to_definition(row: Row) -> Definition:
    """Returns the schedule as it was asked for."""
    return Definition(**{name: row[name] for name in _DEFINED}, **row["options"])
