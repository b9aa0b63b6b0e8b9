"""The failures of outside services: one class for each error type, made from HTTP responses and from exceptions."""

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, ClassVar

import httpx2

from state.http_errors import CATEGORIES, Category, find_error_type, find_retry_after
from state.masking import mask, mask_start

MAX_EXCERPT = 500  # characters of a body that go into a message
_MAX_READ = 20 * 1024  # bytes of a body that are read; a secret at the cut must be read whole to be masked

_MODERATION = re.compile(r"(?i)moderat|inappropriate content|content.?policy|content.?filter|flagged")
_SECRET_HEADERS = ("authorization", "x-api-key", "mj-api-secret")


class ProviderError(Exception):
    """A provider failed. The base class itself is used if the kind of the failure is not known."""

    category: ClassVar[Category] = "unknown"

    def __init__(
        self, message: str, *, details: dict[str, Any] | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.details: dict[str, Any] = details or {}
        self.retry_after = retry_after

    @property
    def type(self) -> str:
        return self.__class__.__name__


class RateLimited(ProviderError):
    category = CATEGORIES["RateLimited"]


class ServiceUnavailable(ProviderError):
    category = CATEGORIES["ServiceUnavailable"]


class ServerError(ProviderError):
    category = CATEGORIES["ServerError"]


class NetworkTimeout(ProviderError):
    category = CATEGORIES["NetworkTimeout"]


class Conflict(ProviderError):
    category = CATEGORIES["Conflict"]


class TooEarly(ProviderError):
    category = CATEGORIES["TooEarly"]


class InvalidInput(ProviderError):
    category = CATEGORIES["InvalidInput"]


class AuthenticationFailed(ProviderError):
    category = CATEGORIES["AuthenticationFailed"]


class PermissionDenied(ProviderError):
    category = CATEGORIES["PermissionDenied"]


class NotFound(ProviderError):
    category = CATEGORIES["NotFound"]


_CLASSES: dict[str, type[ProviderError]] = {
    kind.__name__: kind
    for kind in (
        RateLimited,
        ServiceUnavailable,
        ServerError,
        NetworkTimeout,
        Conflict,
        TooEarly,
        InvalidInput,
        AuthenticationFailed,
        PermissionDenied,
        NotFound,
    )
}


def find_error_class(status: int) -> type[ProviderError]:
    """Returns the class for an HTTP status that is not a success, ProviderError for one that says nothing certain."""
    error_type = find_error_type(status)
    return ProviderError if error_type is None else _CLASSES[error_type]


async def make_error_from_response(response: httpx2.Response, service: str) -> ProviderError:
    """Returns the error for a response that is not a success, with the start of its body. Reads no more than that."""
    start = (await _read_excerpt(response)).decode("utf-8", "replace")
    body = make_excerpt(start, tuple(_list_secrets(response.request)))
    kind = find_error_class(response.status_code)
    if response.status_code in (400, 403, 422) and _MODERATION.search(body):
        kind = InvalidInput  # with any of these statuses, the prompt is what has to change
    return kind(
        f"{service} answered {response.status_code}" + (f": {body}" if body else ""),
        details={"service": service, "status": response.status_code, "body": body},
        retry_after=find_wait(response),
    )


def find_wait(response: httpx2.Response) -> float | None:
    """Returns the seconds that the service asks to wait, if it does."""
    return find_retry_after(response.status_code, response.headers.get("retry-after"))


def make_error_from_exception(exception: httpx2.HTTPError | httpx2.InvalidURL, service: str) -> ProviderError:
    """Returns the error for a request without a usable response. Its detail `sent` is False if the service cannot have
    received the request."""
    sent = not isinstance(exception, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout)
    details = {"service": service, "exception": type(exception).__name__, "sent": sent}
    if isinstance(exception, httpx2.TimeoutException):
        return NetworkTimeout(f"{service} did not answer in time", details=details)
    if isinstance(exception, httpx2.UnsupportedProtocol | httpx2.LocalProtocolError | httpx2.InvalidURL):
        return InvalidInput(f"{service}: the request cannot be sent: {mask(str(exception))}", details=details)
    if isinstance(exception, httpx2.DecodingError):
        return ServerError(f"{service} sent a body that cannot be decoded", details=details)
    if isinstance(exception, httpx2.TransportError):
        text = mask(str(exception)) or type(exception).__name__
        return NetworkTimeout(f"No answer from {service}: {text}", details=details)
    return ProviderError(f"{service}: {mask(str(exception))}", details=details)


def make_excerpt(text: str, secrets: tuple[str, ...] = ()) -> str:
    """Returns the start of a service's text, without secrets."""
    text = " ".join(text.split())
    excerpt = mask_start(text, MAX_EXCERPT, secrets)
    return excerpt if len(text) <= MAX_EXCERPT else f"{excerpt}…"


async def _read_excerpt(response: httpx2.Response) -> bytes:
    body = b""
    with suppress(httpx2.HTTPError, httpx2.StreamError):  # the status alone is enough for the error
        async for chunk in response.aiter_bytes(4096):
            body += chunk
            if len(body) >= _MAX_READ:
                break
    return body


def _list_secrets(request: httpx2.Request) -> Iterator[str]:
    """Yields the request's credentials, with and without their scheme. Services repeat the key that they refuse."""
    for name in _SECRET_HEADERS:
        value = request.headers.get(name, "")
        yield from (value, value.partition(" ")[2])
