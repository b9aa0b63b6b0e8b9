"""A real HTTP server. The path of a request says how it answers."""

from collections.abc import Iterator
from contextlib import contextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tests.providers.servers.faults import until_disconnected
from tests.providers.servers.running import RunningServer


async def _answer(request: Request) -> Response:
    status = request.path_params["status"]
    if status == "hang":
        await until_disconnected(request)
    headers = {"Retry-After": request.query_params["after"]} if "after" in request.query_params else {}
    # Services like to repeat what they refuse.
    body = f"{status}: {request.headers.get('authorization')} {request.query_params.get('token')}"
    return PlainTextResponse(body, 500 if status == "hang" else int(status), headers)


@contextmanager
def answering() -> Iterator[str]:
    with RunningServer(Starlette(routes=[Route("/{status}", _answer), Route("/{status}/", _answer)])) as server:
        yield server.origin
