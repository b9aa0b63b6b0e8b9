"""The HTTP answer inside an exception of httpx, requests or the like: actors that let such exceptions escape get the
same treatment as those that use our providers."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Answer:
    error_type: str
    category: Literal["transient", "permanent", "unknown"]
    retry_after: float | None


_PERMANENT = {
    400: "InvalidInput",
    401: "AuthenticationFailed",
    403: "PermissionDenied",
    404: "NotFound",
    422: "InvalidInput",
}
_TRANSIENT = {408: "NetworkTimeout", 429: "RateLimited", 503: "ServiceUnavailable"}


def answer_in(exception: BaseException) -> Answer | None:
    """By its shape, so that no client library has to be known here."""
    response = getattr(exception, "response", None)
    status = getattr(response, "status_code", None)
    if not isinstance(status, int) or not 400 <= status <= 599:
        return None
    retry_after = _retry_after(response)
    if status in _PERMANENT:
        return Answer(_PERMANENT[status], "permanent", None)
    if status in _TRANSIENT:
        return Answer(_TRANSIENT[status], "transient", retry_after)
    if status >= 500:
        return Answer("ServerError", "transient", retry_after)
    return Answer(type(exception).__name__, "unknown", None)


def _retry_after(response: Any) -> float | None:
    """Seconds or a date; None for nonsense."""
    try:
        text = str(response.headers.get("retry-after") or "").strip()
        if re.fullmatch(r"\d{1,12}", text, re.ASCII):
            return float(text)
        moment = parsedate_to_datetime(text)
    except Exception:  # not our objects, not our headers
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max((moment - datetime.now(UTC)).total_seconds(), 0.0)
