"""Downloads from untrusted URLs: only from the public internet, limited in size and time, with a checked type."""

import asyncio
import contextlib
import hashlib
import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import httpx2

from providers.deadline import limit_time
from providers.errors import (
    InvalidInput,
    ProviderError,
    ServerError,
    make_error_from_exception,
    make_error_from_response,
)
from providers.guarded import ConnectionPolicy, open_guarded
from providers.mediatypes import HEAD_BYTES, IMAGES, VIDEOS, sniff
from providers.settings import DownloadSettings, read
from state.finishing import finish, open_in_threads

CHUNK = 256 * 1024
MAX_REDIRECTS = 5
_HEADERS = {"Accept-Encoding": "identity"}  # media is compressed already
_UNSPECIFIC = frozenset({"", "application/octet-stream", "binary/octet-stream"})


@dataclass(frozen=True)
class DownloadPolicy(ConnectionPolicy):
    media_types: frozenset[str] = IMAGES | VIDEOS
    max_bytes: int = 100 * 1024 * 1024

    @classmethod
    def from_environment(cls) -> "DownloadPolicy":
        settings = read(DownloadSettings)
        return cls(settings.trusted, max_bytes=settings.max_bytes, max_seconds=settings.max_seconds)


@dataclass(frozen=True)
class Download:
    path: Path
    sha256: str
    size: int
    media_type: str


async def download(url: str, folder: Path, policy: DownloadPolicy | None = None) -> Download:
    """Fetches a URL into a new file in the folder, which the caller publishes or removes. After an error there is no
    file."""
    policy = policy or DownloadPolicy.from_environment()
    async with limit_time(policy.max_seconds), open_in_threads(_open_temporary_file(folder)) as file:
        digest, size, media_type = hashlib.sha256(), 0, ""
        async with _fetch(url, policy) as response:
            async for chunk in _read_body(response, policy):
                if not media_type:
                    media_type = _check_type(response, chunk, policy)
                size += len(chunk)
                await finish(asyncio.to_thread(_write, file, digest, chunk))
        if not size:
            raise ServerError("The download is empty")
        await finish(asyncio.to_thread(_sync, file))
        return Download(Path(file.name), digest.hexdigest(), size, media_type)


@contextlib.asynccontextmanager
async def _fetch(url: str, policy: DownloadPolicy) -> AsyncIterator[httpx2.Response]:
    """Yields the response with the content, after redirects. Each target is checked like the first one, and no host is
    trusted any more: a trusted host must not lead to others."""
    try:
        target = httpx2.URL(url)
        for _ in range(MAX_REDIRECTS + 1):
            async with open_guarded("GET", target, policy, headers=_HEADERS) as response:
                if not response.has_redirect_location:
                    if response.status_code != httpx2.codes.OK:
                        raise await make_error_from_response(response, target.host)
                    yield response
                    return
                target = target.join(response.headers["location"])
                policy = replace(policy, trusted_hosts=frozenset())
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise make_error_from_exception(error, "download") from error
    raise InvalidInput(f"The download was redirected more than {MAX_REDIRECTS} times")


async def _read_body(response: httpx2.Response, policy: DownloadPolicy) -> AsyncIterator[bytes]:
    """Yields the decoded body in chunks. Raises InvalidInput if the body is larger than the policy allows."""
    declared = response.headers.get("content-length", "")
    too_large = InvalidInput(f"The download is larger than {policy.max_bytes} bytes")
    if declared.isascii() and declared.isdigit() and int(declared) > policy.max_bytes:
        raise too_large
    total = 0
    async for chunk in response.aiter_bytes(CHUNK):
        total += len(chunk)
        if total > policy.max_bytes:
            raise too_large
        yield chunk


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


def _write(file: IO[bytes], digest: "hashlib._Hash", chunk: bytes) -> None:
    digest.update(chunk)
    try:
        file.write(chunk)
    except OSError as error:
        raise _make_store_error(error) from error


def _sync(file: IO[bytes]) -> None:
    try:
        file.flush()
        os.fsync(file.fileno())
    except OSError as error:
        raise _make_store_error(error) from error


def _make_store_error(error: OSError) -> ProviderError:
    return ProviderError(f"Cannot store the download: {error.strerror}", details={"errno": error.errno})
