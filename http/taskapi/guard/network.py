"""The network as an attacker: without API keys, only programs of this machine are served, and only directly."""

import re
from collections.abc import Awaitable, Callable
from functools import lru_cache
from ipaddress import IPv6Address, ip_address

from starlette.types import ASGIApp, Receive, Scope, Send

from taskapi.api.problems import Problem
from taskapi.guard.layer import Layer

_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(:[0-9]{1,5})?")
_FORWARDED = re.compile(  # by proxies, content delivery networks and the load balancers of clouds
    rb"forwarded|via|cdn-loop|client-ip|x-(forwarded|original|envoy|azure|appengine|cluster|client|real|proxy\w*)(-.*)?|"
    rb"(cf|true|fly|fastly)-(connecting|client)-ip(v6)?"
)
_LIVENESS = "/livez"
"""Says only that the process lives. Whatever restarts a server that does not answer it may come from another machine,
while there is no key or no database yet."""
_REMEDY = (
    "This server has no API keys, so it answers only programs of its own machine. Create a key there (callboard keys "
    "create) and send it as `Authorization: Bearer`."
)


class NetworkGuard(Layer):
    """Refuses strangers while there are no API keys. With keys, the key of a request decides, whatever its address and
    Host are: a browser never sends a key by itself, so DNS rebinding gains nothing."""

    def __init__(self, app: ASGIApp, serves_strangers: Callable[[Scope], Awaitable[bool]]) -> None:
        super().__init__(app)
        self._serves_strangers = serves_strangers
        self._open = False  # for ever, once it is true: rows of keys are never deleted

    def handle(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if self._open or scope["path"] == _LIVENESS or (stranger := find_stranger(scope)) is None:
            return self.app(scope, receive, send)
        return self._check(stranger, scope, receive, send)

    async def _check(self, stranger: Problem, scope: Scope, receive: Receive, send: Send) -> None:
        self._open = await self._serves_strangers(scope)
        if not self._open:
            raise stranger
        await self.app(scope, receive, send)


def find_stranger(scope: Scope) -> Problem | None:
    """Returns the problem of a request that a stranger may have sent, by its connection and its headers."""
    if not _is_local_socket(scope):
        return Problem("local-only", f"The connection does not begin and end on this machine. {_REMEDY}")
    if scope["http_version"] == "1.0":
        return Problem("local-only", f"HTTP/1.0 is what proxies speak. {_REMEDY}")
    hosts = 0
    for name, value in scope["headers"]:
        if name == b"host":
            hosts += 1
            if not is_local_name(value.decode("latin-1")):  # DNS rebinding: a foreign name that leads to 127.0.0.1
                detail = f"Use localhost, 127.0.0.1 or [::1] as the server's name. {_REMEDY}"
                return Problem("misdirected-request", detail)
        elif _is_of_proxies(name):
            detail = f"A proxy has forwarded this request ({name.decode('latin-1')}). {_REMEDY}"
            return Problem("local-only", detail)
    if hosts != 1:
        return Problem("misdirected-request", f"A request needs one Host. {_REMEDY}")
    return None


def _is_local_socket(scope: Scope) -> bool:
    """Looks at both ends: a server on 0.0.0.0 is also reached through the machine's other addresses, and a router may
    bring packets from elsewhere to 127.0.0.1."""
    server, client = scope.get("server"), scope.get("client")
    if server is None:
        return False
    if client is None:
        return server[1] is None  # a Unix socket has a path and no port, and its other end has no name
    return is_loopback(server[0]) and is_loopback(client[0])


@lru_cache(maxsize=1024)  # programs send the same few headers with each request
def _is_of_proxies(header: bytes) -> bool:
    return _FORWARDED.fullmatch(header) is not None


@lru_cache(maxsize=1024)
def is_loopback(address: str) -> bool:
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is not None:  # a socket for both IPv4 and IPv6
        parsed = parsed.ipv4_mapped
    return parsed.is_loopback


@lru_cache(maxsize=1024)
def is_local_name(authority: str) -> bool:
    """Whether a host name, with or without a port, means this machine."""
    match = _AUTHORITY.fullmatch(authority)
    if match is None:
        return False
    host = match[1].strip("[]").lower()
    return host == "localhost" or is_loopback(host)
