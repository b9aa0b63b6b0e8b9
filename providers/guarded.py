"""Connections to URLs that somebody else has named: only to the public internet, or to hosts that the operator trusts.
Downloads and webhooks use it."""

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import httpx2

from providers.addresses import is_public
from providers.api import get_ssl_context
from providers.errors import NotFound, PermissionDenied, ServerError

READ_SECONDS = 20.0

# Threads that look up names, which block. A name server that does not answer keeps its thread for longer than the
# request may take, and must not occupy those that others need.
_lookups = ThreadPoolExecutor(64, "lookup")

_log = logging.getLogger(__name__)

Resolver = Callable[[str, int], list[str]]


def resolve(host: str, port: int) -> list[str]:
    """Returns the addresses of a host. Unusual notations (0x7f.1, 2130706433) are returned in plain form."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NotFound(f"The host {host} is not known: {error}") from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(frozen=True)
class ConnectionPolicy:
    trusted_hosts: frozenset[str] = frozenset()
    """As host:port. They may use plain http and private addresses."""
    max_seconds: float = 120.0
    resolver: Resolver = resolve
    verify: ssl.SSLContext = field(default_factory=get_ssl_context)

    def trusts(self, url: httpx2.URL) -> bool:
        return f"{_get_host(url)}:{_get_port(url)}" in self.trusted_hosts


@contextlib.asynccontextmanager
async def open_guarded(
    method: str, url: httpx2.URL, policy: ConnectionPolicy, *, headers: Mapping[str, str], **body: Any
) -> AsyncIterator[httpx2.Response]:
    """Sends a request, with the body that httpx2 makes from `body`, and yields its response, to be read in pieces.
    Connects to an address that was checked, with the host name of the URL for TLS and the Host header: the name is
    resolved once. Follows no redirects. Proxies of the environment are not used, because they would resolve the name
    again, without our check."""
    addresses = await _find_addresses(url, policy)
    timeout = httpx2.Timeout(min(READ_SECONDS, policy.max_seconds))
    async with httpx2.AsyncClient(verify=policy.verify, trust_env=False, timeout=timeout) as client:
        for address in addresses:
            request = client.build_request(
                method,
                url.copy_with(host=address),
                headers={"Host": url.netloc.decode("ascii"), **headers},
                **body,
                extensions={"sni_hostname": _get_host(url)},
            )
            try:
                response = await client.send(request, stream=True)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                if address == addresses[-1]:
                    raise
            else:
                async with contextlib.aclosing(response):
                    _refuse_nested_compression(response)
                    yield response
                return


async def _find_addresses(url: httpx2.URL, policy: ConnectionPolicy) -> list[str]:
    trusted = policy.trusts(url)
    if url.scheme != "https" and not (url.scheme == "http" and trusted):
        raise PermissionDenied(f"Only https is allowed, not {url.scheme or 'nothing'}: {url.host}")
    if not url.host or url.userinfo:
        raise PermissionDenied("The URL needs a host and no user")
    loop = asyncio.get_running_loop()
    addresses = await loop.run_in_executor(_lookups, policy.resolver, _get_host(url), _get_port(url))
    allowed = addresses if trusted else [address for address in addresses if is_public(address)]
    if not allowed:
        # Only for the operator: to whoever has named the URL, the addresses would describe the network inside.
        _log.warning("refused to connect to %s: %s", url.host, ", ".join(addresses))
        raise PermissionDenied(f"{url.host} is not on the public internet")
    return allowed


def _refuse_nested_compression(response: httpx2.Response) -> None:
    """A kilobyte that is packed three times can unpack to a terabyte of nothing, which no size or time limit sees."""
    if "," in response.headers.get("content-encoding", ""):
        raise ServerError("The answer is compressed more than once")


def _get_host(url: httpx2.URL) -> str:
    return url.raw_host.decode("ascii")


def _get_port(url: httpx2.URL) -> int:
    return url.port or (443 if url.scheme == "https" else 80)
