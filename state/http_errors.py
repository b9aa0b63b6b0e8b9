"""The errors behind HTTP statuses: their types, their categories, and the wait that a service asks for.

`broker` applies this mapping to exceptions of HTTP clients that escape from an actor, `providers` to the responses that
they receive. Both import it from here, because providers import nothing else of ours."""

import math
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal

Category = Literal["transient", "permanent", "unknown"]

MAX_RETRY_AFTER = 3600.0  # seconds

CATEGORIES: dict[str, Category] = {
    "RateLimited": "transient",
    "ServiceUnavailable": "transient",
    "ServerError": "transient",
    "NetworkTimeout": "transient",
    "Conflict": "transient",
    "TooEarly": "transient",
    "InvalidInput": "permanent",
    "AuthenticationFailed": "permanent",
    "PermissionDenied": "permanent",
    "NotFound": "permanent",
}

_TYPES = {
    400: "InvalidInput",
    401: "AuthenticationFailed",
    402: "PermissionDenied",  # the credits are used up; the request itself is valid
    403: "PermissionDenied",
    404: "NotFound",
    405: "InvalidInput",
    408: "NetworkTimeout",
    409: "Conflict",  # another request is in the way; the service itself is well
    410: "InvalidInput",
    413: "InvalidInput",
    415: "InvalidInput",
    422: "InvalidInput",
    425: "TooEarly",
    429: "RateLimited",
    503: "ServiceUnavailable",
}


def find_error_type(status: int) -> str | None:
    """Returns the error type of a status, a key of CATEGORIES.

    Returns None for a status that says nothing certain: below 400, and every 4xx that is not listed. Its error has the
    category `unknown`, so the task is retried on the default schedule."""
    if status >= 500:
        return _TYPES.get(status, "ServerError")
    return _TYPES.get(status)


def find_retry_after(status: int, header: object) -> float | None:
    """Returns the seconds of a Retry-After header if the status is transient, else None."""
    error_type = find_error_type(status)
    if error_type is None or CATEGORIES[error_type] != "transient":
        return None
    return parse_retry_after(header)


def parse_retry_after(header: object, now: datetime | None = None) -> float | None:
    """Returns the seconds of a Retry-After header (seconds or a date), capped; None if it is missing or malformed."""
    text = str(header or "").strip()
    if re.fullmatch(r"\d{1,12}", text, re.ASCII):
        return cap_retry_after(float(text))
    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return cap_retry_after(max((moment - (now or datetime.now(UTC))).total_seconds(), 0.0))
    except (ValueError, IndexError, TypeError, OverflowError):
        return None


def cap_retry_after(seconds: object) -> float | None:
    """Returns the seconds, at most MAX_RETRY_AFTER; None if they are not a number that can be waited for."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not math.isfinite(seconds) or seconds < 0:
        return None
    return float(min(seconds, MAX_RETRY_AFTER))
