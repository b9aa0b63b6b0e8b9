"""From an exception to a structured error, and to the decision whether another attempt is worth it."""

import math
import random
import traceback
from typing import Any, ClassVar, Literal

from pydantic import ValidationError

from broker.execution.httpanswers import answer_in
from broker.execution.interrupts import TimeLimitExceeded
from broker.execution.storable import readable
from state import jsonsafe
from state.errors import UnknownActor
from state.jsonsafe import UnsafeJson
from state.masking import mask_data, mask_start
from state.tasks.catalog import RetryPolicy

Category = Literal["transient", "permanent", "unknown"]

MAX_RETRY_AFTER = 3600.0
_MESSAGE = 10_000  # characters that are kept
_TRACEBACK = 20_000
_DETAILS = 20_000


class TokenLimitExceeded(Exception):
    """The task has used more tokens than CALLBOARD_TOKEN_LIMIT allows, over all its attempts."""

    category: ClassVar[Category] = "permanent"

    def __init__(self, used: int, limit: int) -> None:
        super().__init__(f"The task has used {used} tokens; the limit is {limit}.")
        self.details = {"tokens": used, "limit": limit}


# Exceptions that are not our own, in the words of the design. Providers raise theirs with a category of their own.
_KNOWN: tuple[tuple[type[BaseException], str, Category], ...] = (
    (UnknownActor, "UnknownActor", "permanent"),
    (ValidationError, "InvalidInput", "permanent"),
    (UnsafeJson, "UnsafeJson", "permanent"),
    (TimeLimitExceeded, "TimeLimitExceeded", "unknown"),
    (TimeoutError, "NetworkTimeout", "transient"),
    (ConnectionError, "NetworkTimeout", "transient"),
)


def describe(exception: BaseException) -> dict[str, Any]:
    """The error as it is stored: always storable, whatever the exception is like, and without secrets."""
    error_type, category = _classify(exception)
    return {
        "type": error_type,
        "message": _storable(_text(exception), _MESSAGE),
        "category": category,
        "details": _details(exception),
        "traceback": _storable(_trace(exception), _TRACEBACK),
    }


def asked_to_wait(exception: BaseException) -> float | None:
    """The seconds of a Retry-After, at most an hour."""
    asked = getattr(exception, "retry_after", None)
    if asked is None and (answer := answer_in(exception)) is not None:
        asked = answer.retry_after
    if isinstance(asked, bool) or not isinstance(asked, int | float) or not math.isfinite(asked) or asked < 0:
        return None
    return min(float(asked), MAX_RETRY_AFTER)


def retry_seconds(error: dict[str, Any], asked: float | None, policy: RetryPolicy, attempt: int) -> float | None:
    """None: not worth another attempt. What the service asks for wins over the schedule."""
    if error["category"] == "permanent":
        return None
    if asked is not None:
        return asked
    delay = policy.delay(error["type"], attempt)
    return delay + random.uniform(0, delay * 0.1)  # noqa: S311


def _classify(exception: BaseException) -> tuple[str, Category]:
    own = getattr(exception, "category", None)
    if own in ("transient", "permanent", "unknown"):
        return type(exception).__name__, own
    for kind, error_type, category in _KNOWN:
        if isinstance(exception, kind):
            return error_type, category
    answer = answer_in(exception)
    if answer is not None:
        return answer.error_type, answer.category
    return type(exception).__name__, "unknown"


def _storable(text: str, limit: int) -> str:
    clean = jsonsafe.clean_text(mask_start(text, limit), limit)
    return clean if len(text) <= limit else f"{clean}… ({len(text)} characters in all)"


def _text(exception: BaseException) -> str:
    try:
        return str(exception) or type(exception).__name__
    except BaseException:  # an exception that cannot be printed is still one
        return f"{type(exception).__name__} (its text cannot be printed)"


def _trace(exception: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(exception))
    except BaseException:
        return "".join(traceback.format_tb(exception.__traceback__))


def _details(exception: BaseException) -> dict[str, Any]:
    """What the exception brings along, as far as it can be kept."""
    try:
        given = getattr(exception, "details", None)
        details: dict[str, Any] = mask_data(readable(given)) if isinstance(given, dict) else {}
        too_long = len(jsonsafe.dump(details)) > _DETAILS
    except Exception:  # the objects in it are not ours
        return {"omitted": "the details cannot be kept as JSON"}
    return {"omitted": "the details are too long to be kept"} if too_long else details
