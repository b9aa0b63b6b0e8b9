"""What every request passes on its way in: is it meant for us, and what if nobody below knows what to do?"""

import re
from ipaddress import ip_address

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from state.logs import log
from taskapi.problems import Problem, problem_of

_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(:[0-9]{1,5})?")
_NAMES = {"localhost", "testserver"}  # the second is what test clients call the application
_SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}


def is_local(authority: str) -> bool:
    """Does this name (with or without a port) mean the machine we are on?"""
    match = _AUTHORITY.fullmatch(authority)
    if match is None:
        return False
    host = match[1].strip("[]").lower()
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host in _NAMES


class Entrance:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            _refuse_strangers(scope)
            await self._app(_without_trailing_slash(scope), receive, sending)
        except ClientDisconnect:
            pass  # it left in the middle of its own request: nobody is there to be answered
        except Exception as failure:
            problem = problem_of(failure)
            if problem.status >= 500:
                log.exception("request failed", method=scope["method"], path=scope["path"])
            if started:
                raise
            await problem.response()(scope, receive, send)


def _refuse_strangers(scope: Scope) -> None:
    """There are no API keys yet, so only this machine's own programs and pages may ask."""
    headers = Headers(scope=scope)
    host = headers.get("host")
    if host is not None and not is_local(host):  # a name that an attacker points at 127.0.0.1
        raise Problem("misdirected-request", "Use localhost, 127.0.0.1 or [::1] as the server's name.")
    origin = headers.get("origin")
    if origin is not None and scope["method"] not in _SAFE_METHODS and not is_local(origin.partition("://")[2]):
        raise Problem("foreign-origin", "A web page of another site sent this request.")


def _without_trailing_slash(scope: Scope) -> Scope:
    path: str = scope["path"]
    return {**scope, "path": path.rstrip("/") or "/"} if path.endswith("/") else scope
