"""An operation: one method of one path, with everything that the router and OpenAPI need to know about it."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

PREFIX = "/api/v1"

Handler = Callable[[Request], Awaitable[Response]]
ResponseBody = type[BaseModel] | str | None  # a model, a media type, or no body


@dataclass(frozen=True)
class Operation:
    method: str
    path: str
    handler: Handler
    summary: str
    responses: dict[int, ResponseBody]  # by status
    description: str = ""
    body: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    headers: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()  # tokens, see taskapi.api.problems
    older_paths: tuple[str, ...] = ()  # lead to the same handler, and are marked as deprecated

    @property
    def paths(self) -> tuple[str, ...]:
        return (self.path, *self.older_paths)


BODY_PROBLEMS = ("empty-body", "invalid-encoding", "invalid-json", "body-too-large", "invalid-input")


def build_routes(operations: Iterable[Operation]) -> list[Route]:
    """Builds one route for each path, so that the answer to a wrong method names all methods of the path."""
    handlers: dict[str, dict[str, Handler]] = {}
    for operation in operations:
        for path in operation.paths:
            handlers.setdefault(path, {})[operation.method] = operation.handler
    return [Route(path, _dispatch_by_method(methods), methods=list(methods)) for path, methods in handlers.items()]


def _dispatch_by_method(handlers: dict[str, Handler]) -> Handler:
    async def dispatch(request: Request) -> Response:
        return await handlers["GET" if request.method == "HEAD" else request.method](request)

    return dispatch
