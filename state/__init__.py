"""The state store: the only code that speaks SQL. One verb for each transition."""

from state.control import cancel
from state.errors import IllegalTransition, LeaseLost, StateError, TaskNotFound, UnknownActor
from state.events import Event, get_events
from state.submission import NewTask, submit, submit_many
from state.tasks import Task, get_attempts, get_task, list_tasks

__all__ = [
    "Event",
    "IllegalTransition",
    "LeaseLost",
    "NewTask",
    "StateError",
    "Task",
    "TaskNotFound",
    "UnknownActor",
    "cancel",
    "get_attempts",
    "get_events",
    "get_task",
    "list_tasks",
    "submit",
    "submit_many",
]
