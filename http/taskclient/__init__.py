"""A client of the HTTP API: submit tasks, wait for them, follow them.

`Client` blocks, `AsyncClient` is for asyncio and trio. What they do is written once, in `programs` and `following`; the
two classes only send requests and sleep."""

from taskclient.asynchronous import AsyncClient
from taskclient.errors import (
    AnswerLost,
    CallboardError,
    Conflict,
    Forbidden,
    InvalidRequest,
    NotFound,
    Problem,
    ServerFailed,
    ServerUnreachable,
    TaskCanceled,
    TaskDead,
    TaskFailed,
    TooManyRequests,
    Unauthorized,
    WaitTimeout,
)
from taskclient.models import Attempt, BatchOutcome, Event, ListedTask, Progress, Task, TaskError, Usage, Waiting
from taskclient.programs import TaskFilter, TaskOptions
from taskclient.synchronous import Client

__all__ = [
    "AnswerLost",
    "AsyncClient",
    "Attempt",
    "BatchOutcome",
    "CallboardError",
    "Client",
    "Conflict",
    "Event",
    "Forbidden",
    "InvalidRequest",
    "ListedTask",
    "NotFound",
    "Problem",
    "Progress",
    "ServerFailed",
    "ServerUnreachable",
    "Task",
    "TaskCanceled",
    "TaskDead",
    "TaskError",
    "TaskFailed",
    "TaskFilter",
    "TaskOptions",
    "TooManyRequests",
    "Unauthorized",
    "Usage",
    "WaitTimeout",
    "Waiting",
]
