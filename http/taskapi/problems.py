"""Every error is a problem document (RFC 9457). This is the list of them, and how exceptions become one."""

from dataclasses import dataclass, field
from typing import Any

import psycopg
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from state import jsonsafe
from state.database.errors import kind_of
from state.errors import (
    ContentNotFound,
    ContentStoreFailed,
    DedupKeyTaken,
    EmptyFilter,
    GateNotFound,
    GenerationNotFound,
    IdempotencyConflict,
    IdempotencyPending,
    IllegalTransition,
    InvalidPayload,
    NotReady,
    PromptNotFound,
    StateError,
    TaskNotFound,
    UnknownActor,
)

MEDIA_TYPE = "application/problem+json"

KINDS: dict[str, tuple[int, str]] = {
    "bad-request": (400, "The request cannot be understood"),
    "empty-body": (400, "The body is empty"),
    "invalid-encoding": (400, "The body is not UTF-8"),
    "invalid-json": (400, "The body is not JSON"),
    "foreign-origin": (403, "Pages of other sites may not do this"),
    "not-found": (404, "There is nothing here"),
    "task-not-found": (404, "No such task"),
    "content-not-found": (404, "No such content"),
    "content-bytes-missing": (404, "The content's bytes are not on this machine"),
    "unknown-actor": (404, "No such actor"),
    "unknown-gate": (404, "No such gate"),
    "unknown-queue": (404, "No such queue"),
    "unknown-provider": (404, "No such provider"),
    "generation-not-found": (404, "No such generation"),
    "prompt-not-found": (404, "No such prompt"),
    "method-not-allowed": (405, "This method is not possible here"),
    "illegal-transition": (409, "Not possible in this status"),
    "dedup-key-taken": (409, "Another task holds its dedup key"),
    "idempotency-pending": (409, "The first request is still under way"),
    "body-too-large": (413, "The body is too large"),
    "range-not-satisfiable": (416, "No such range of bytes"),
    "misdirected-request": (421, "This server answers on the local machine only"),
    "empty-filter": (422, "Without a filter this would mean all of them"),
    "invalid-input": (422, "A field of the body is wrong"),
    "invalid-parameter": (422, "A parameter or header is wrong"),
    "idempotency-conflict": (422, "The key was used with another body"),
    "internal-error": (500, "Something went wrong on our side"),
    "not-ready": (503, "The database does not answer"),
    "content-store-failed": (503, "The content store does not answer"),
}
_BY_STATUS = {404: "not-found", 405: "method-not-allowed"}
_MISSING: dict[type[StateError], str] = {
    ContentNotFound: "content-not-found",
    GateNotFound: "unknown-gate",
    GenerationNotFound: "generation-not-found",
    PromptNotFound: "prompt-not-found",
}
_LONGEST = 500  # characters of a text that repeats what the client sent


@dataclass
class Problem(Exception):
    """Raised anywhere below an endpoint; `members` are the document's additional ones, such as `field`."""

    token: str
    detail: str
    members: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__(self.detail)
        self.status, self.title = KINDS[self.token]

    def response(self) -> Response:
        document = {
            "type": f"/problems/{self.token}",
            "title": self.title,
            "status": self.status,
            "detail": jsonsafe.clean_text(self.detail, _LONGEST),
            "error": self.token,
            **self.members,
        }
        return Response(jsonsafe.dump(document), self.status, self.headers, MEDIA_TYPE)


def at_field(token: str, name: str, message: str) -> Problem:
    """A problem with one field, named as the client wrote it."""
    name = jsonsafe.clean_text(name, _LONGEST)
    return Problem(token, f"{name}: {message}" if name else message, {"field": name} if name else {})


def problem_of(failure: Exception) -> Problem:
    """What the client is told of an exception; what nobody expected is told without its insides."""
    match failure:
        case Problem():
            return failure
        case HTTPException():
            token = _BY_STATUS.get(failure.status_code, "bad-request")
            return Problem(token, KINDS[token][1] + ".", headers=dict(failure.headers or {}))
        case StateError():
            return _of_state(failure)
        case psycopg.errors.ProgramLimitExceeded():  # a value that is too long for an index
            return Problem("invalid-input", "A value in the payload is too long to be stored.")
        case psycopg.Error() if kind_of(failure) in ("again", "reconnect"):
            return _not_ready("The database does not answer. Try again in a moment.")
        case _:
            return Problem("internal-error", "This is a bug or a fault of this server; its log says more.")


def _of_state(failure: StateError) -> Problem:
    text = str(failure)
    match failure:
        case TaskNotFound():
            return Problem("task-not-found", text, {"task_id": jsonsafe.clean_text(failure.task_id, _LONGEST)})
        case ContentNotFound() | GateNotFound() | GenerationNotFound() | PromptNotFound():
            return Problem(_MISSING[type(failure)], text)
        case ContentStoreFailed():
            return Problem("content-store-failed", "Try again in a moment.", headers={"Retry-After": "5"})
        case UnknownActor():
            return Problem("unknown-actor", text, {"field": "actor", "known": failure.known})
        case InvalidPayload():
            return Problem("invalid-input", text, {"field": failure.field})
        case IllegalTransition():
            members = {"task_id": failure.task_id, "task_status": failure.status}
            return Problem("illegal-transition", text, members)
        case DedupKeyTaken():
            return Problem("dedup-key-taken", text, {"task_id": failure.task_id, "holder": failure.holder})
        case EmptyFilter():
            return Problem("empty-filter", text)
        case IdempotencyConflict():
            return Problem("idempotency-conflict", text)
        case IdempotencyPending():
            return Problem("idempotency-pending", text, headers={"Retry-After": "1"})
        case NotReady():
            # With a cause it is a connection's error, which may name hosts and users.
            return _not_ready(text if failure.__cause__ is None else "The database does not answer.")
        case _:
            return Problem("internal-error", "This is a bug or a fault of this server; its log says more.")


def _not_ready(detail: str) -> Problem:
    return Problem("not-ready", detail, headers={"Retry-After": "2"})


async def respond(_: Request, failure: Exception) -> Response:
    return problem_of(failure).response()
