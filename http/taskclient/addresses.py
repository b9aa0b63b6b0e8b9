"""Where the server is, and how to reach it: arguments first, then the environment."""

import os
import ssl
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import httpx2

from taskclient.effects import Lost, Request
from taskclient.errors import CallboardError

DEFAULT_URL = "http://127.0.0.1:8000"
LARGEST_EVENT = 64 * 2**20  # bytes; `done` carries the whole task
_NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)


class InvalidUrl(CallboardError):
    pass


@dataclass(frozen=True, slots=True)
class Address:
    """`socket`: the path of a Unix socket; the URL then only names the host for the headers."""

    url: str
    key: str | None
    socket: str | None = None

    @classmethod
    def find(cls, url: str | None, key: str | None, socket: str | None = None) -> "Address":
        """CALLBOARD_KEY belongs to CALLBOARD_URL: it is not sent to a server that was named otherwise."""
        if url is None and socket is None:
            url = os.environ.get("CALLBOARD_URL") or DEFAULT_URL
            key = key or os.environ.get("CALLBOARD_KEY") or None
        url = (url or "http://localhost").rstrip("/")
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidUrl(f"{url!r} is not the address of a server, such as http://127.0.0.1:8000.")
        if key is not None and not (key.isascii() and key.isprintable()):
            raise InvalidUrl("The key has characters that no key has.")
        return cls(url, key, socket)

    def make_options(self, timeout: float) -> dict[str, Any]:
        """Options of httpx2's clients. A server on this machine is never reached through a proxy."""
        headers = {"User-Agent": "callboard-client"}
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key}"
        host = urlsplit(self.url).hostname or ""
        local = self.socket is not None or _is_loopback(host)
        options: dict[str, Any] = {"base_url": self.url, "headers": headers, "timeout": timeout, "trust_env": not local}
        if self.url.startswith("http:"):
            options["verify"] = _NO_TLS  # loading the certificates of all authorities takes a while
        elif local:
            options["verify"] = httpx2.create_ssl_context()  # SSL_CERT_FILE and SSL_CERT_DIR hold here as well
        return options


_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def make_arguments(request: Request) -> dict[str, Any]:
    """The arguments of httpx2's `build_request`."""
    return {
        "method": request.method,
        "url": request.path,
        "params": dict(request.params) or None,
        "headers": dict(request.headers),
        "content": request.content,
    }


def to_lost(failure: httpx2.TransportError) -> Lost:
    reason = str(failure) or type(failure).__name__
    return Lost(not isinstance(failure, _NEVER_SENT), reason, isinstance(failure, httpx2.ReadTimeout))
