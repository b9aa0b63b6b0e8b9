"""From an exception to a structured error, and to the decision whether another attempt is worth it."""

import random
import traceback
from typing import Any, Literal

from dramatiq.middleware import TimeLimitExceeded
from pydantic import ValidationError

from state.catalog import RetryPolicy
from state.errors import UnknownActor
from state.jsonsafe import UnsafeJson, check, clean_text

Category = Literal["transient", "permanent", "unknown"]

# Exceptions that are not our own, in the words of the design. Providers raise theirs with a category of their own.
_KNOWN: tuple[tuple[type[BaseException], str, Category], ...] = (
    (UnknownActor, "UnknownActor", "permanent"),
    (ValidationError, "InvalidInput", "permanent"),
    (UnsafeJson, "ResultNotJson", "permanent"),
    (TimeLimitExceeded, "TimeLimitExceeded", "unknown"),
    (TimeoutError, "NetworkTimeout", "transient"),
    (ConnectionError, "NetworkTimeout", "transient"),
)
_MAX_RETRY_AFTER = 3600.0


def describe(exception: BaseException) -> dict[str, Any]:
    error_type, category = _classify(exception)
    return {
        "type": error_type,
        "message": clean_text(_text(exception)),
        "category": category,
        "details": _details(exception),
        "traceback": clean_text("".join(traceback.format_exception(exception)), limit=20_000),
    }


def retry_seconds(error: dict[str, Any], exception: BaseException, policy: RetryPolicy, attempt: int) -> float | None:
    """None: not worth another attempt. What the service asks for wins over the schedule."""
    if error["category"] == "permanent":
        return None
    asked = getattr(exception, "retry_after", None)
    if isinstance(asked, int | float) and asked >= 0:
        return min(float(asked), _MAX_RETRY_AFTER)
    delay = policy.delay(error["type"], attempt)
    return delay + random.uniform(0, delay * 0.1)  # noqa: S311


def _classify(exception: BaseException) -> tuple[str, Category]:
    own = getattr(exception, "category", None)
    if own in ("transient", "permanent", "unknown"):
        return type(exception).__name__, own
    for kind, error_type, category in _KNOWN:
        if isinstance(exception, kind):
            return error_type, category
    return type(exception).__name__, "unknown"


def _text(exception: BaseException) -> str:
    try:
        return str(exception) or type(exception).__name__
    except Exception:  # an exception that cannot be printed is still one
        return f"{type(exception).__name__} (its text cannot be printed)"


def _details(exception: BaseException) -> dict[str, Any]:
    details = getattr(exception, "details", None)
    try:
        if isinstance(details, dict):
            check(details)
            return details
    except UnsafeJson:
        pass
    return {}
