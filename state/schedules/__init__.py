"""Recurring tasks: schedules, their ticks, and what each tick has started. Programs use the names below."""

from state.schedules.changes import change_schedule, create_schedule, delete_schedule, pause_schedule, resume_schedule
from state.schedules.declarations import declare_schedule
from state.schedules.reads import (
    Schedule,
    ScheduleRun,
    TickPreview,
    get_schedule,
    list_runs,
    list_schedules,
    preview_ticks,
)
from state.schedules.starts import start_schedule

__all__ = [
    "Schedule",
    "ScheduleRun",
    "TickPreview",
    "change_schedule",
    "create_schedule",
    "declare_schedule",
    "delete_schedule",
    "get_schedule",
    "list_runs",
    "list_schedules",
    "pause_schedule",
    "preview_ticks",
    "resume_schedule",
    "start_schedule",
]
