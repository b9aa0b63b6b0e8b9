"""The middleware of all requests: refuses foreign requests, removes trailing slashes, answers unexpected failures."""

import re
from ipaddress import ip_address

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from state.logs import log
from taskapi.api.problems import Problem, to_problem

_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(:[0-9]{1,5})?")
_LOCAL_NAMES = {"localhost", "testserver"}  # test clients call the application `testserver`
_SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}


class RequestGuard:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def send_and_note(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            _refuse_foreign_request(scope)
            await self._app(_remove_trailing_slash(scope), receive, send_and_note)
        except ClientDisconnect:
            pass  # the client left in the middle of its request: there is nobody to answer
        except Exception as failure:
            problem = to_problem(failure)
            if problem.status >= 500:
                log.exception("request failed", method=scope["method"], path=scope["path"])
            if started:
                raise
            await problem.to_response()(scope, receive, send)


def is_local(authority: str) -> bool:
    """Whether a host name, with or without a port, means this machine."""
    match = _AUTHORITY.fullmatch(authority)
    if match is None:
        return False
    host = match[1].strip("[]").lower()
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host in _LOCAL_NAMES


def _refuse_foreign_request(scope: Scope) -> None:
    """There are no API keys yet, so only programs and pages of this machine are served."""
    headers = Headers(scope=scope)
    host = headers.get("host")
    if host is not None and not is_local(host):  # DNS rebinding: an attacker's name that leads to 127.0.0.1
        raise Problem("misdirected-request", "Use localhost, 127.0.0.1 or [::1] as the server's name.")
    origin = headers.get("origin")
    if origin is not None and scope["method"] not in _SAFE_METHODS and not is_local(origin.partition("://")[2]):
        raise Problem("foreign-origin", "A web page of another site sent this request.")


def _remove_trailing_slash(scope: Scope) -> Scope:
    path: str = scope["path"]
    return {**scope, "path": path.rstrip("/") or "/"} if path.endswith("/") else scope
