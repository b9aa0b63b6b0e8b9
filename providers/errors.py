"""What can go wrong outside: one class for each type of design section 5, and the mapping from HTTP to it."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar, Literal

import httpx2

Category = Literal["transient", "permanent", "unknown"]

MAX_RETRY_AFTER = 3600.0
MAX_EXCERPT = 500

_MODERATION = re.compile(r"(?i)moderat|inappropriate content|content.?policy|content.?filter|flagged")
_SECRET_HEADERS = ("authorization", "x-api-key", "mj-api-secret")
_SECRET_SHAPES = re.compile(r"(?i)\b(bearer\s+|sk-)[\w.~+/-]{6,}=*")


class ProviderError(Exception):
    """A provider failed. The base class itself stands for failures whose kind we do not know."""

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
    category = "transient"


class ServiceUnavailable(ProviderError):
    category = "transient"


class ServerError(ProviderError):
    category = "transient"


class NetworkTimeout(ProviderError):
    category = "transient"


class InvalidInput(ProviderError):
    category = "permanent"


class AuthenticationFailed(ProviderError):
    category = "permanent"


class PermissionDenied(ProviderError):
    category = "permanent"


class NotFound(ProviderError):
    category = "permanent"


_BY_STATUS: dict[int, type[ProviderError]] = {
    401: AuthenticationFailed,
    402: PermissionDenied,  # out of credits: the request itself is fine
    403: PermissionDenied,
    404: NotFound,
    408: NetworkTimeout,
    429: RateLimited,
    503: ServiceUnavailable,
}


def error_class(status: int) -> type[ProviderError]:
    """The error type for an HTTP status that is not a success."""
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500:
        return ServerError
    return InvalidInput if status >= 400 else ProviderError


def error_from_response(response: httpx2.Response, service: str) -> ProviderError:
    """The error for an answer that is not a success; reads at most an excerpt of a streamed body."""
    secrets = [response.request.headers.get(name, "") for name in _SECRET_HEADERS]
    body = mask(_excerpt(response), secrets)
    kind = error_class(response.status_code)
    if response.status_code in (400, 403, 422) and _MODERATION.search(body):
        kind = InvalidInput  # whatever the status: it is the prompt that has to change
    retry_after = None
    if kind in (RateLimited, ServiceUnavailable):
        retry_after = parse_retry_after(response.headers.get("retry-after"))
    message = f"{service} answered {response.status_code}" + (f": {body}" if body else "")
    return kind(
        message,
        details={"service": service, "status": response.status_code, "body": body},
        retry_after=retry_after,
    )


def error_from_exception(exception: httpx2.HTTPError | httpx2.InvalidURL, service: str) -> ProviderError:
    """The error for a request that got no usable answer; `sent` is False when nobody can have received it."""
    sent = not isinstance(exception, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout)
    details = {"service": service, "exception": type(exception).__name__, "sent": sent}
    if isinstance(exception, httpx2.HTTPStatusError):
        return error_from_response(exception.response, service)
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


def parse_retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """Seconds to wait by a Retry-After header (seconds or a date), at most an hour; None for nonsense."""
    text = (value or "").strip()
    if re.fullmatch(r"\d{1,12}", text, re.ASCII):
        return min(float(text), MAX_RETRY_AFTER)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, IndexError, TypeError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    seconds = (moment - (now or datetime.now(UTC))).total_seconds()
    return min(max(seconds, 0.0), MAX_RETRY_AFTER)


def mask(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without credentials: services like to repeat the key that they refuse."""
    for secret in secrets:
        for part in (secret, secret.partition(" ")[2]):
            if part:
                text = text.replace(part, "***")
    return _SECRET_SHAPES.sub("***", text)


def _excerpt(response: httpx2.Response) -> str:
    try:
        if response.is_stream_consumed or response.is_closed:
            text = response.text
        else:
            text = _read_some(response).decode("utf-8", "replace")
    except (httpx2.HTTPError, httpx2.StreamError):
        return ""  # the status alone says what matters
    text = " ".join(text.split())
    return text if len(text) <= MAX_EXCERPT else text[:MAX_EXCERPT] + "…"


def _read_some(response: httpx2.Response) -> bytes:
    body = b""
    for chunk in response.iter_bytes(4096):
        body += chunk
        if len(body) > 4 * MAX_EXCERPT:
            break
    return body
