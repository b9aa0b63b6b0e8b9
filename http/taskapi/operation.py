"""What one operation of the API is."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True)
class Operation:
    method: str
    path: str
    handler: Handler
    summary: str
    answers: dict[int, type[BaseModel] | str | None]  # a model, or a media type, or nothing
    body: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    headers: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    also: tuple[str, ...] = field(default=())  # older names of the same thing


BODY_PROBLEMS = ("empty-body", "invalid-encoding", "invalid-json", "body-too-large", "invalid-input")
