"""Every operation: where it is, who answers, what goes in and what comes out. OpenAPI is made from the same list."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from taskapi.boardroutes import BOARD_OPERATIONS
from taskapi.operation import Handler
from taskapi.taskroutes import TASK_OPERATIONS

OPERATIONS = [*TASK_OPERATIONS, *BOARD_OPERATIONS]


def routes() -> list[Route]:
    """One route for each path, so that a refused method is told of all that are possible."""
    handlers: dict[str, dict[str, Handler]] = {}
    for operation in OPERATIONS:
        for path in (operation.path, *operation.also):
            handlers.setdefault(path, {})[operation.method] = operation.handler
    return [Route(path, _by_method(methods), methods=list(methods)) for path, methods in handlers.items()]


def _by_method(handlers: dict[str, Handler]) -> Handler:
    async def dispatch(request: Request) -> Response:
        return await handlers["GET" if request.method == "HEAD" else request.method](request)

    return dispatch
