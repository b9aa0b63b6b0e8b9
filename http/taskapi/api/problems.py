"""Problem documents (RFC 9457): the list of all problems, and the problem that each exception becomes."""

from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from state import jsonsafe
from state.database.errors import DatabaseError, ValueTooLong, kind_of
from state.errors import (
    AgentEventNotFound,
    ContentNotFound,
    ContentStoreFailed,
    DedupKeyTaken,
    EmptyFilter,
    Forbidden,
    GateNotFound,
    GenerationNotFound,
    IdempotencyConflict,
    IdempotencyPending,
    IllegalItemStatus,
    IllegalStep,
    IllegalTransition,
    IllegalWorkflow,
    InvalidPayload,
    InvalidWorkflow,
    ItemNotFound,
    KeyNotFound,
    LastOperatorKey,
    NotReady,
    NoWebhook,
    ProjectNotFound,
    PromptNotFound,
    QueueAlreadyRunning,
    RunReplaced,
    ScheduleBusy,
    ScheduleExists,
    ScheduleNotFound,
    StateError,
    StepNotFound,
    StepsStillFailed,
    TaskNotFound,
    UnknownActor,
    UnknownAgent,
    WorkflowError,
    WorkflowNotFound,
    WorkflowNotRunning,
)
from taskapi.guard.request_ids import get_request_id

MEDIA_TYPE = "application/problem+json"

PROBLEMS: dict[str, tuple[int, str]] = {  # status and title by token
    "bad-request": (400, "The request cannot be understood"),
    "empty-body": (400, "The body is empty"),
    "invalid-encoding": (400, "The body is not UTF-8"),
    "invalid-json": (400, "The body is not JSON"),
    "unauthorized": (401, "An API key is needed"),
    "forbidden": (403, "Your key does not allow this"),
    "foreign-origin": (403, "Pages of other sites may not do this"),
    "local-only": (403, "Without API keys the server answers its own machine only"),
    "not-found": (404, "There is nothing here"),
    "task-not-found": (404, "No such task"),
    "content-not-found": (404, "No such content"),
    "content-bytes-missing": (404, "The content's bytes are not on this machine"),
    "unknown-actor": (404, "No such actor"),
    "unknown-gate": (404, "No such gate"),
    "unknown-queue": (404, "No such queue"),
    "unknown-provider": (404, "No such provider"),
    "generation-not-found": (404, "No such generation"),
    "agent-event-not-found": (404, "No such agent event"),
    "prompt-not-found": (404, "No such prompt"),
    "project-not-found": (404, "No such project"),
    "item-not-found": (404, "No such item"),
    "key-not-found": (404, "No such API key"),
    "schedule-not-found": (404, "No such schedule"),
    "workflow-not-found": (404, "No such workflow"),
    "step-not-found": (404, "The workflow has no such step"),
    "method-not-allowed": (405, "This method is not possible here"),
    "request-timeout": (408, "The body did not arrive in time"),
    "illegal-transition": (409, "Not possible in this status"),
    "dedup-key-taken": (409, "Another task holds its dedup key"),
    "queue-already-running": (409, "The queue of this project is already running"),
    "schedule-exists": (409, "There is a schedule of this name"),
    "schedule-busy": (409, "The last task of the schedule has not ended"),
    "workflow-not-running": (409, "Tasks can be added to a running workflow only"),
    "steps-still-failed": (409, "Steps of the workflow must be repaired first"),
    "last-operator-key": (409, "No operator's key would be left"),
    "no-webhook": (409, "The task has no webhook"),
    "idempotency-pending": (409, "The first request is still under way"),
    "body-too-large": (413, "The body is too large"),
    "unsupported-media-type": (415, "The body must be application/json"),
    "range-not-satisfiable": (416, "No such range of bytes"),
    "misdirected-request": (421, "Without API keys the server has local names only"),
    "empty-filter": (422, "A filter is required, or `all`"),
    "invalid-input": (422, "A field of the body is wrong"),
    "invalid-workflow": (422, "The workflow cannot run as it is declared"),
    "invalid-parameter": (422, "A parameter or header is wrong"),
    "idempotency-conflict": (422, "The key was used with another body"),
    "too-many-requests": (429, "The key has reached a limit"),
    "internal-error": (500, "Something went wrong on our side"),
    "too-many-connections": (503, "The server has too many connections"),
    "not-ready": (503, "The database does not answer"),
    "shutting-down": (503, "The server is shutting down"),
    "content-store-failed": (503, "The content store does not answer"),
}
_TOKENS_BY_STATUS = {404: "not-found", 405: "method-not-allowed"}
_TOKENS_BY_ERROR: dict[type[StateError], str] = {  # errors whose text says everything
    AgentEventNotFound: "agent-event-not-found",
    ContentNotFound: "content-not-found",
    EmptyFilter: "empty-filter",
    Forbidden: "forbidden",
    GateNotFound: "unknown-gate",
    GenerationNotFound: "generation-not-found",
    IdempotencyConflict: "idempotency-conflict",
    ItemNotFound: "item-not-found",
    KeyNotFound: "key-not-found",
    LastOperatorKey: "last-operator-key",
    ProjectNotFound: "project-not-found",
    PromptNotFound: "prompt-not-found",
    ScheduleBusy: "schedule-busy",
    ScheduleExists: "schedule-exists",
    ScheduleNotFound: "schedule-not-found",
}
_MAX_ECHO = 500  # characters of a text that repeats input of the client


class ProblemView(BaseModel):
    """RFC 9457. `error` is the bare token of `type`."""

    type: str
    title: str
    status: int
    detail: str
    error: str
    request_id: str | None = None
    field: str | None = None
    task_id: str | None = None
    workflow_id: str | None = None
    step: str | None = None
    known: list[str] | None = None


@dataclass
class Problem(Exception):
    """An error that a handler raises for its client. `members` are further members of the document, such as
    `field`."""

    token: str
    detail: str
    members: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__(self.detail)
        self.status, self.title = PROBLEMS[self.token]

    @classmethod
    def at_field(cls, token: str, name: str, message: str) -> "Problem":
        """A problem with one field. `name` is the name by which the client sent the field."""
        name = jsonsafe.clean_text(name, _MAX_ECHO)
        return cls(token, f"{name}: {message}" if name else message, {"field": name} if name else {})

    @classmethod
    def at_unsafe_json(cls, token: str, unsafe: jsonsafe.UnsafeJson) -> "Problem":
        return cls.at_field(token, unsafe.path, str(unsafe).removeprefix(f"{unsafe.path}: "))

    @classmethod
    def of_validation(cls, token: str, refused: ValidationError) -> "Problem":
        """The first of the errors that a model has found."""
        first = refused.errors(include_url=False, include_context=False, include_input=False)[0]
        return cls.at_field(token, ".".join(str(part) for part in first["loc"]), first["msg"])

    def to_document(self) -> dict[str, Any]:
        return {
            "type": f"/problems/{self.token}",
            "title": self.title,
            "status": self.status,
            "detail": jsonsafe.clean_text(self.detail, _MAX_ECHO),
            "error": self.token,
            **({"request_id": request_id} if (request_id := get_request_id()) else {}),
            **self.members,
        }

    def to_response(self) -> Response:
        return Response(jsonsafe.dump(self.to_document()), self.status, self.headers, MEDIA_TYPE)


async def handle_failure(_: Request, failure: Exception) -> Response:
    """Starlette's exception handler."""
    return to_problem(failure).to_response()


def to_problem(failure: Exception) -> Problem:
    """Turns an exception into a problem. The text of an unexpected exception is not shown: it may hold secrets."""
    match failure:
        case Problem():
            return failure
        case HTTPException():
            token = _TOKENS_BY_STATUS.get(failure.status_code, "bad-request")
            return Problem(token, PROBLEMS[token][1] + ".", headers=dict(failure.headers or {}))
        case StateError():
            return _from_state_error(failure)
        case ValueTooLong():  # a value that is too long for an index
            return Problem("invalid-input", "A value in the payload is too long to be stored.")
        case DatabaseError() if kind_of(failure) in ("again", "reconnect"):
            return _not_ready("The database does not answer. Try again in a moment.")
        case _:
            return _internal_error()


def _from_state_error(failure: StateError) -> Problem:
    text = str(failure)
    if type(failure) in _TOKENS_BY_ERROR:
        return Problem(_TOKENS_BY_ERROR[type(failure)], text)
    match failure:
        case TaskNotFound():
            return Problem("task-not-found", text, {"task_id": jsonsafe.clean_text(failure.task_id, _MAX_ECHO)})
        case NoWebhook():
            return Problem("no-webhook", text, {"task_id": failure.task_id})
        case WorkflowError():
            return _from_workflow_error(failure)
        case ContentStoreFailed():
            return Problem("content-store-failed", "Try again in a moment.", headers={"Retry-After": "5"})
        case UnknownActor():
            return Problem("unknown-actor", text, {"field": "actor", "known": failure.known})
        case UnknownAgent():
            return Problem("invalid-input", text, {"field": failure.field, "known": failure.known})
        case InvalidPayload():
            return Problem("invalid-input", text, {"field": failure.field})
        case IdempotencyPending():
            return Problem("idempotency-pending", text, headers={"Retry-After": "1"})
        case NotReady():
            # With a cause, the text is that of a connection's error, which may name hosts and users.
            return _not_ready(text if failure.__cause__ is None else "The database does not answer.")
        case _:
            return _from_conflict(failure)


def _from_conflict(failure: StateError) -> Problem:
    """For verbs that are not possible in the state in which something is."""
    text = str(failure)
    match failure:
        case IllegalTransition():
            members = {"task_id": failure.task_id, "task_status": failure.status}
            return Problem("illegal-transition", text, members)
        case IllegalItemStatus():
            return Problem("illegal-transition", text, {"item_id": failure.item_id, "item_status": failure.status})
        case QueueAlreadyRunning():
            members = {"task_id": failure.run_id, "project_id": failure.project_id}
            return Problem("queue-already-running", text, members)
        case RunReplaced():
            members = {"task_id": failure.task_id, "task_status": "dead", "holder": failure.holder}
            return Problem("illegal-transition", text, members)
        case DedupKeyTaken():
            return Problem("dedup-key-taken", text, {"task_id": failure.task_id, "holder": failure.holder})
        case _:
            return _internal_error()


def _from_workflow_error(failure: WorkflowError) -> Problem:
    text = str(failure)
    match failure:
        case WorkflowNotFound():
            return Problem("workflow-not-found", text, {"workflow_id": _echo(failure.workflow_id)})
        case StepNotFound():
            return Problem("step-not-found", text, {"workflow_id": failure.workflow_id, "step": _echo(failure.step)})
        case InvalidWorkflow():
            named = {} if failure.step is None else {"step": _echo(failure.step)}
            return Problem("invalid-workflow", text, {"field": _echo(failure.field), **named})
        case StepsStillFailed():
            members = {"workflow_id": failure.workflow_id, "workflow_status": failure.status, "steps": failure.steps}
            return Problem("steps-still-failed", text, members)
        case IllegalWorkflow():
            token = "workflow-not-running" if isinstance(failure, WorkflowNotRunning) else "illegal-transition"
            return Problem(token, text, {"workflow_id": failure.workflow_id, "workflow_status": failure.status})
        case IllegalStep():
            members = {"workflow_id": failure.workflow_id, "step": failure.step, "step_status": failure.status}
            return Problem("illegal-transition", text, members)
        case _:
            return _internal_error()


def _echo(text: str) -> str:
    return jsonsafe.clean_text(text, _MAX_ECHO)


def _not_ready(detail: str) -> Problem:
    return Problem("not-ready", detail, headers={"Retry-After": "2"})


def _internal_error() -> Problem:
    return Problem("internal-error", "This is a bug or a fault of this server; its log says more.")
