"""An operation: one method of one path, with everything that the router and OpenAPI need to know about it."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Scope as ASGIScope

from state.access.caller import Role
from taskapi.access.authorization import authorize

PREFIX = "/api/v1"

Handler = Callable[[Request], Awaitable[Response]]
ResponseBody = type[BaseModel] | str | None  # a model, a media type, or no body
Scope = Literal["tenant", "all", "any"]


@dataclass(frozen=True)
class Operation:
    """Nothing is open by default: an operation without a role or a scope cannot be declared.

    `scope`: "tenant" for rows of the caller's tenant, "all" for the system as a whole, which a caller with a tenant may
    not use, "any" for what does not belong to tenants."""

    method: str
    path: str
    handler: Handler
    summary: str
    responses: dict[int, ResponseBody]  # by status
    description: str = ""
    body: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    headers: tuple[str, ...] = ()  # of requests
    sends: tuple[str, ...] = ()  # headers of its successes, see taskapi.api.openapi_responses
    problems: tuple[str, ...] = ()  # tokens, see taskapi.api.problems
    older_paths: tuple[str, ...] = ()  # lead to the same handler, and are marked as deprecated
    by_token: bool = False  # a stream token in the query may stand for the key
    role: Role | Literal["anyone"] = field(kw_only=True)
    scope: Scope = field(kw_only=True)

    @property
    def paths(self) -> tuple[str, ...]:
        return (self.path, *self.older_paths)


OPTIONAL_BODY_PROBLEMS = ("invalid-encoding", "invalid-json", "body-too-large", "invalid-input")
BODY_PROBLEMS = ("empty-body", *OPTIONAL_BODY_PROBLEMS)


def build_routes(operations: Iterable[Operation]) -> list[Route]:
    """Builds one route for each path, so that the answer to a wrong method names all methods of the path."""
    by_path: dict[str, dict[str, Operation]] = {}
    for operation in operations:
        for path in operation.paths:
            by_path.setdefault(path, {})[operation.method] = operation
    return [Route(path, _dispatch_by_method(methods), methods=list(methods)) for path, methods in by_path.items()]


def find_pages(operations: Iterable[Operation]) -> frozenset[str]:
    """Returns the paths that answer a page for people."""
    return frozenset(each.path for each in operations if each.responses.get(200) == "text/html")


def find_operation(scope: ASGIScope) -> Operation | None:
    """Returns the operation that a request has reached."""
    operation: Operation | None = scope["state"].get("operation")
    return operation


def _dispatch_by_method(operations: dict[str, Operation]) -> Handler:
    async def dispatch(request: Request) -> Response:
        operation = operations["GET" if request.method == "HEAD" else request.method]
        request.state.operation = operation
        await authorize(request, operation)
        return await operation.handler(request)

    return dispatch
