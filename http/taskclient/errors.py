"""What can go wrong: the server refuses (a problem document), cannot be reached, or the task itself has failed."""

import json
from collections.abc import Mapping
from typing import Any

from taskclient.models import Task, TaskError


class CallboardError(Exception):
    """The base of all errors of this client."""


class Problem(CallboardError):
    """The server has refused the request. `document` is the whole problem document (RFC 9457)."""

    def __init__(self, status: int, document: Mapping[str, Any], request_id: str | None = None) -> None:
        self.status = status
        self.document = dict(document)
        self.token: str = str(document.get("error") or f"http-{status}")
        self.detail: str = str(document.get("detail") or document.get("title") or f"The server answered {status}.")
        self.field: str | None = document.get("field")
        self.request_id = request_id
        super().__init__(self.detail)

    def __str__(self) -> str:
        return f"{self.detail} ({self.token}, {self.status})"


class Unauthorized(Problem):
    """401: there is no key, or it is not known any more."""


class Forbidden(Problem):
    """403, 421: the key does not allow this, or this place needs a key."""


class NotFound(Problem):
    """404."""


class Conflict(Problem):
    """409: not possible in this status."""


class InvalidRequest(Problem):
    """Other 4xx: a field, a parameter or the body is wrong; `field` names it where that helps."""


class TooManyRequests(Problem):
    """429, and the patience of the client has ended."""


class ServerFailed(Problem):
    """5xx: the server, or what it depends on, does not work at the moment."""


class ServerUnreachable(CallboardError):
    """There is no connection to the server. Nothing was sent, or it was sent again without an answer."""


class AnswerLost(CallboardError):
    """The connection broke after the request was sent: it may have been carried out. Look before you repeat it."""


class WaitTimeout(CallboardError, TimeoutError):
    """The task has not ended in time. It goes on."""

    def __init__(self, task_id: str, seconds: float) -> None:
        super().__init__(f"{task_id} has not ended within {seconds:g} s; it goes on.")
        self.task_id = task_id


class TaskFailed(CallboardError):
    """The task has ended without a result. `task` has everything."""

    def __init__(self, task: Task, reason: str) -> None:
        super().__init__(f"{task.task_id} {reason}")
        self.task = task


class TaskDead(TaskFailed):
    """The task has died. `error` says of what."""

    def __init__(self, task: Task) -> None:
        self.error: TaskError = task.error or TaskError(type="Unknown")
        super().__init__(task, f"died: {self.error.type}: {self.error.message}")


class TaskCanceled(TaskFailed):
    def __init__(self, task: Task) -> None:
        super().__init__(task, "was canceled.")


_BY_STATUS: dict[int, type[Problem]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    421: Forbidden,
    429: TooManyRequests,
}


def make_problem(status: int, headers: Mapping[str, str], body: bytes) -> Problem:
    """Turns an answer into an error. A proxy in between may answer with something that is no problem document."""
    try:
        document = json.loads(body)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        document = {}
    kind = _BY_STATUS.get(status) or (ServerFailed if status >= 500 else InvalidRequest)
    return kind(status, document, headers.get("x-request-id"))
