"""Downloads from untrusted URLs: only from the public internet, limited in size and time, with a checked type."""

import contextlib
import hashlib
import os
import socket
import ssl
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import httpx2

from providers.addresses import is_public
from providers.api import get_ssl_context
from providers.deadline import Deadline
from providers.errors import (
    InvalidInput,
    NotFound,
    PermissionDenied,
    ProviderError,
    ServerError,
    make_error_from_exception,
    make_error_from_response,
)
from providers.mediatypes import HEAD_BYTES, IMAGES, VIDEOS, sniff
from providers.settings import DownloadSettings

CHUNK = 64 * 1024
MAX_REDIRECTS = 5
READ_SECONDS = 20.0
_UNSPECIFIC = frozenset({"", "application/octet-stream", "binary/octet-stream"})

Resolver = Callable[[str, int], list[str]]


def resolve(host: str, port: int) -> list[str]:
    """Returns the addresses of a host. Unusual notations (0x7f.1, 2130706433) are returned in plain form."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NotFound(f"The host {host} is not known: {error}") from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(frozen=True)
class DownloadPolicy:
    trusted_hosts: frozenset[str] = frozenset()
    """Hosts (or host:port) that may use plain http and private addresses."""
    media_types: frozenset[str] = IMAGES | VIDEOS
    max_bytes: int = 100 * 1024 * 1024
    max_seconds: float = 120.0
    resolver: Resolver = resolve
    verify: ssl.SSLContext = field(default_factory=get_ssl_context)

    @classmethod
    def from_environment(cls) -> "DownloadPolicy":
        settings = DownloadSettings()
        return cls(settings.trusted, max_bytes=settings.max_bytes, max_seconds=settings.max_seconds)

    def trusts(self, url: httpx2.URL) -> bool:
        return not self.trusted_hosts.isdisjoint((_get_host(url), f"{_get_host(url)}:{_get_port(url)}"))


@dataclass(frozen=True)
class Download:
    path: Path
    sha256: str
    size: int
    media_type: str


def download(url: str, folder: Path, policy: DownloadPolicy | None = None) -> Download:
    """Fetches a URL into a new file in the folder, which the caller publishes or removes. After an error there is no
    file. Proxies of the environment are not used, because they would resolve the name again, without our check."""
    policy = policy or DownloadPolicy.from_environment()
    with Deadline(policy.max_seconds) as deadline, _open_temporary_file(folder) as file:
        digest, size, media_type = hashlib.sha256(), 0, ""
        with _fetch(url, policy, deadline) as response:
            for chunk in _read_body(response, policy, deadline):
                if not media_type:
                    media_type = _check_type(response, chunk, policy)
                digest.update(chunk)
                size += len(chunk)
                _write(file, chunk)
        if not size:
            raise ServerError("The download is empty")
        _write(file, b"", sync=True)
        return Download(Path(file.name), digest.hexdigest(), size, media_type)


@contextlib.contextmanager
def _fetch(url: str, policy: DownloadPolicy, deadline: Deadline) -> Iterator[httpx2.Response]:
    """Yields the response with the content, after redirects. Each target is checked like the first one."""
    try:
        target = httpx2.URL(url)
        for _ in range(MAX_REDIRECTS + 1):
            with _open(target, policy, deadline) as response:
                if not response.has_redirect_location:
                    if response.status_code != httpx2.codes.OK:
                        raise make_error_from_response(response, target.host)
                    yield response
                    return
                target = target.join(response.headers["location"])
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        deadline.check()
        raise make_error_from_exception(error, "download") from error
    raise InvalidInput(f"The download was redirected more than {MAX_REDIRECTS} times")


@contextlib.contextmanager
def _open(url: httpx2.URL, policy: DownloadPolicy, deadline: Deadline) -> Iterator[httpx2.Response]:
    """Connects to a checked address, with the host name of the URL for TLS and the Host header."""
    addresses = _find_addresses(url, policy)
    timeout = httpx2.Timeout(min(READ_SECONDS, policy.max_seconds))
    with httpx2.Client(verify=policy.verify, trust_env=False, timeout=timeout) as client:
        for address in addresses:
            request = client.build_request(
                "GET",
                url.copy_with(host=address),
                headers={"Host": url.netloc.decode("ascii"), "Accept-Encoding": "gzip, deflate"},
                extensions={"trace": deadline.trace, "sni_hostname": _get_host(url)},
            )
            try:
                response = client.send(request, stream=True)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                if deadline.passed or address == addresses[-1]:
                    raise
            else:
                with contextlib.closing(response):
                    yield response
                return


def _find_addresses(url: httpx2.URL, policy: DownloadPolicy) -> list[str]:
    trusted = policy.trusts(url)
    if url.scheme != "https" and not (url.scheme == "http" and trusted):
        raise PermissionDenied(f"Downloads need https, not {url.scheme or 'nothing'}: {url.host}")
    if not url.host or url.userinfo:
        raise PermissionDenied("A download URL needs a host and no user")
    addresses = policy.resolver(_get_host(url), _get_port(url))
    allowed = addresses if trusted else [address for address in addresses if is_public(address)]
    if not allowed:
        raise PermissionDenied(f"{url.host} is not on the public internet", details={"addresses": addresses})
    return allowed


def _read_body(response: httpx2.Response, policy: DownloadPolicy, deadline: Deadline) -> Iterator[bytes]:
    """Yields the decoded body in chunks. Raises InvalidInput if the body is larger than the policy allows."""
    declared = response.headers.get("content-length", "")
    too_large = InvalidInput(f"The download is larger than {policy.max_bytes} bytes")
    if declared.isascii() and declared.isdigit() and int(declared) > policy.max_bytes:
        raise too_large
    total = 0
    for chunk in response.iter_bytes(CHUNK):
        total += len(chunk)
        if total > policy.max_bytes:
            raise too_large
        deadline.check()
        yield chunk
    deadline.check()


def _check_type(response: httpx2.Response, chunk: bytes, policy: DownloadPolicy) -> str:
    """Returns the type of the content. Header and content must both be of an allowed type."""
    claimed = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    actual = sniff(chunk[:HEAD_BYTES])
    if actual is None or not {actual, claimed} <= policy.media_types | _UNSPECIFIC:
        # Transient: a CDN may return an error page for a moment, and the output has been paid for.
        raise ServerError(
            f"Expected media, but got {claimed or 'no content type'} with {actual or 'unknown'} content",
            details={"content_type": claimed, "content": actual},
        )
    return actual


@contextlib.contextmanager
def _open_temporary_file(folder: Path) -> Iterator[IO[bytes]]:
    """Yields a new file, and removes it after an error."""
    try:
        file = tempfile.NamedTemporaryFile(dir=folder, prefix="download-", delete=False)  # noqa: SIM115
    except OSError as error:
        raise _make_store_error(error) from error
    try:
        yield file
    except BaseException:
        Path(file.name).unlink(missing_ok=True)
        raise
    finally:
        with contextlib.suppress(OSError):  # on a full disk, the rest of the buffer cannot be written
            file.close()


def _write(file: IO[bytes], chunk: bytes, *, sync: bool = False) -> None:
    try:
        file.write(chunk)
        if sync:
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise _make_store_error(error) from error


def _make_store_error(error: OSError) -> ProviderError:
    return ProviderError(f"Cannot store the download: {error.strerror}", details={"errno": error.errno})


def _get_host(url: httpx2.URL) -> str:
    return url.raw_host.decode("ascii")


def _get_port(url: httpx2.URL) -> int:
    return url.port or (443 if url.scheme == "https" else 80)
