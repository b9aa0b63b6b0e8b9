"""The state store: the only code that uses SQL. There is one verb for each transition."""

from state.errors import (
    DedupKeyTaken,
    EmptyFilter,
    IllegalTransition,
    LeaseLost,
    StateError,
    TaskNotFound,
    UnknownActor,
)
from state.maintenance.orphans import requeue_orphaned
from state.tasks.control import cancel, delete, pause, resume
from state.tasks.deadletters import dismiss, dismiss_many, list_dead_letters, redrive, retry
from state.tasks.errorgroups import list_error_groups
from state.tasks.events import Event, get_events
from state.tasks.new_task import NewTask
from state.tasks.reads import Task, get_attempts, get_task, list_tasks
from state.tasks.submission import submit, submit_many

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
    "list_error_groups",
    "list_tasks",
    "pause",
    "redrive",
    "requeue_orphaned",
    "resume",
    "retry",
    "submit",
    "submit_many",
]
