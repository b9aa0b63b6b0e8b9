"""Turns exceptions into structured errors, and decides whether another attempt follows."""

import random
import traceback
from typing import Any, ClassVar

from pydantic import ValidationError

from broker.execution.interrupts import TimeLimitExceeded
from broker.execution.storable import readable
from state import jsonsafe
from state.errors import UnknownActor
from state.http_errors import CATEGORIES, Category, cap_retry_after, find_error_type, find_retry_after
from state.jsonsafe import UnsafeJson
from state.masking import mask_data, mask_ends, mask_start
from state.tasks.catalog import RetryPolicy

_MESSAGE = 10_000  # characters that are kept
_TRACEBACK = 20_000
_TRACEBACK_PART = 2_000  # of one frame or one message in it
_DETAILS = 20_000


class TokenLimitExceeded(Exception):
    """The task has used more tokens than CALLBOARD_TOKEN_LIMIT allows, over all its attempts."""

    category: ClassVar[Category] = "permanent"

    def __init__(self, used: int, limit: int) -> None:
        super().__init__(f"The task has used {used} tokens; the limit is {limit}.")
        self.details = {"tokens": used, "limit": limit}


class Refused(Exception):
    """A middleware of the broker did not let the task run."""


class LoopBlocked(Exception):
    """The coroutine has blocked the event loop, which it shares with others, until its process was replaced."""


# Exceptions that have no category of their own. Those of providers have one.
_KNOWN: tuple[tuple[type[BaseException], str, Category], ...] = (
    (UnknownActor, "UnknownActor", "permanent"),
    (ValidationError, "InvalidInput", "permanent"),
    (UnsafeJson, "UnsafeJson", "permanent"),
    (TimeLimitExceeded, "TimeLimitExceeded", "unknown"),
    (TimeoutError, "NetworkTimeout", "transient"),
    (ConnectionError, "NetworkTimeout", "transient"),
)


def describe(exception: BaseException) -> dict[str, Any]:
    """Returns the error as it is stored: without secrets, and storable for any exception."""
    error_type, category = _classify(exception)
    return {
        "type": error_type,
        "message": _describe_message(exception),
        "category": category,
        "details": _describe_details(exception),
        "traceback": _describe_traceback(exception),
    }


def find_requested_wait(exception: BaseException) -> float | None:
    """Returns the seconds that the service asks to wait, at most an hour: the exception's own `retry_after`, else the
    Retry-After header of the HTTP response that it carries."""
    own = getattr(exception, "retry_after", None)
    if own is not None:
        return cap_retry_after(own)
    status = _find_http_status(exception)
    return None if status is None else find_retry_after(status, _read_retry_after(exception))


def choose_delay(error: dict[str, Any], requested: float | None, policy: RetryPolicy, attempt: int) -> float | None:
    """Returns the seconds until the next attempt, or None if there is none. The service's request has precedence over
    the schedule."""
    if error["category"] == "permanent":
        return None
    if requested is not None:
        return requested
    delay = policy.delay(error["type"], attempt)
    return delay + random.uniform(0, delay * 0.1)  # noqa: S311


def _classify(exception: BaseException) -> tuple[str, Category]:
    own = getattr(exception, "category", None)
    if own in ("transient", "permanent", "unknown"):
        return type(exception).__name__, own
    for kind, error_type, category in _KNOWN:
        if isinstance(exception, kind):
            return error_type, category
    status = _find_http_status(exception)
    http_type = None if status is None else find_error_type(status)
    if http_type is not None:
        return http_type, CATEGORIES[http_type]
    return type(exception).__name__, "unknown"


def _find_http_status(exception: BaseException) -> int | None:
    """Returns the status of the response that exceptions of httpx, requests and similar clients carry. They are
    recognized by their attributes, so that no client library has to be imported here."""
    status = getattr(getattr(exception, "response", None), "status_code", None)
    return status if isinstance(status, int) and 400 <= status <= 599 else None


def _read_retry_after(exception: BaseException) -> object:
    try:
        return exception.response.headers.get("retry-after")  # type: ignore[attr-defined]
    except Exception:  # the response is an object of another library
        return None


def _describe_message(exception: BaseException) -> str:
    try:
        text = str(exception) or type(exception).__name__
    except BaseException:  # the exception's own code failed, which must not hide the exception
        text = f"{type(exception).__name__} (its text cannot be printed)"
    clean = jsonsafe.clean_text(mask_start(text, _MESSAGE), _MESSAGE)
    return clean if len(text) <= _MESSAGE else f"{clean}… ({len(text)} characters in all)"


def _describe_traceback(exception: BaseException) -> str:
    """Returns the start of the traceback and its end, where the line that raised is. Long parts are shortened first,
    because a long message would take the place of that line."""
    try:
        parts = traceback.format_exception(exception)
    except BaseException:
        parts = traceback.format_tb(exception.__traceback__)
    short = [part if len(part) <= _TRACEBACK_PART else mask_ends(part, _TRACEBACK_PART) for part in parts]
    text = mask_ends("".join(short), _TRACEBACK)
    return jsonsafe.clean_text(text, len(text))


def _describe_details(exception: BaseException) -> dict[str, Any]:
    try:
        given = getattr(exception, "details", None)
        details: dict[str, Any] = mask_data(readable(given)) if isinstance(given, dict) else {}
        too_long = len(jsonsafe.dump(details)) > _DETAILS
    except Exception:  # the details contain objects of other libraries
        return {"omitted": "the details cannot be kept as JSON"}
    return {"omitted": "the details are too long to be kept"} if too_long else details
