"""The state store: the only code that speaks SQL. One verb for each transition."""

from state.control import cancel, delete, pause, resume
from state.deadletters import dismiss, dismiss_many, list_dead_letters, redrive, retry
from state.errors import (
    DedupKeyTaken,
    EmptyFilter,
    IllegalTransition,
    LeaseLost,
    StateError,
    TaskNotFound,
    UnknownActor,
)
from state.events import Event, get_events
from state.orphans import requeue_orphaned
from state.submission import NewTask, submit, submit_many
from state.tasks import Task, get_attempts, get_task, list_tasks

__all__ = [
    "DedupKeyTaken",
    "EmptyFilter",
    "Event",
    "IllegalTransition",
    "LeaseLost",
    "NewTask",
    "StateError",
    "Task",
    "TaskNotFound",
    "UnknownActor",
    "cancel",
    "delete",
    "dismiss",
    "dismiss_many",
    "get_attempts",
    "get_events",
    "get_task",
    "list_dead_letters",
    "list_tasks",
    "pause",
    "redrive",
    "requeue_orphaned",
    "resume",
    "retry",
    "submit",
    "submit_many",
]
