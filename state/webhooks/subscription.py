"""What a submitter asks for: the URL to report to, and the statuses whose beginning is reported."""

from collections.abc import Sequence
from ipaddress import ip_address
from typing import Literal, get_args

from pydantic import HttpUrl, TypeAdapter, ValidationError

from state.errors import InvalidPayload
from state.settings import get_settings
from state.transitions import FINISHED

MAX_URL = 2000  # characters
WebhookEvent = Literal["scheduled", "running", "paused", "completed", "canceled", "dead"]
"""The statuses whose beginning can be reported. Moves between queued and waiting say nothing to a receiver."""

POSSIBLE: tuple[WebhookEvent, ...] = get_args(WebhookEvent)
DEFAULT: tuple[WebhookEvent, ...] = tuple(status for status in POSSIBLE if status in FINISHED)

_Url = TypeAdapter(HttpUrl)


def check_webhook(url: str | None, events: Sequence[str] | None) -> tuple[str | None, list[str] | None]:
    """Returns the URL in its normal form, and the statuses to report. Raises InvalidPayload. The addresses of the host
    are checked at each delivery, as they may change."""
    if url is None:
        if events is not None:
            raise _make_error("webhook_events", "needs a webhook_url")
        return None, None
    return _check_url(url), _check_events(DEFAULT if events is None else events)


def _check_url(url: str) -> str:
    if len(url) > MAX_URL:
        raise _make_error("webhook_url", f"must be at most {MAX_URL} characters")
    try:
        parsed = _Url.validate_python(url)
    except ValidationError:
        raise _make_error("webhook_url", "must be a URL, such as https://example.com/hooks/callboard") from None
    if parsed.username is not None or parsed.password is not None:
        raise _make_error("webhook_url", "must have no user and no password: deliveries are signed")
    if parsed.fragment is not None:
        raise _make_error("webhook_url", "must have no fragment: it would not be sent")
    if f"{parsed.host}:{parsed.port}" not in get_settings().webhook_hosts:
        if parsed.scheme != "https":
            raise _make_error("webhook_url", "must be https, or a host and port of CALLBOARD_WEBHOOK_HOSTS")
        if _is_inside(parsed.host or ""):
            raise _make_error("webhook_url", "must be on the public internet, or in CALLBOARD_WEBHOOK_HOSTS")
    return str(parsed)


def _check_events(events: Sequence[str]) -> list[str]:
    unknown = [event for event in events if event not in POSSIBLE]
    if isinstance(events, str) or not events or unknown:
        raise _make_error("webhook_events", f"must be a list of statuses: {', '.join(POSSIBLE)}")
    return list(dict.fromkeys(events))


def _is_inside(host: str) -> bool:
    """Whether the host is the address of a private network, which a delivery would refuse."""
    try:
        return not ip_address(host.strip("[]")).is_global
    except ValueError:
        return False


def _make_error(field: str, message: str) -> InvalidPayload:
    return InvalidPayload(f"{field}: {message}", field)
