"""Sends a webhook to its receiver: one POST through the guarded connection of downloads, without redirects, with a
limit on the time of the whole exchange. Only a 2xx within that time counts as delivered."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx2

from providers.deadline import limit_time
from providers.errors import (
    NetworkTimeout,
    NotFound,
    ProviderError,
    RateLimited,
    ServerError,
    ServiceUnavailable,
    find_wait,
    make_error_from_exception,
    make_excerpt,
)
from providers.guarded import ConnectionPolicy, open_guarded

MAX_ANSWER = 4096  # bytes of an answer that are read
_MAX_EXCERPT = 200  # characters


class Gone(ProviderError):
    """410: the receiver does not want to hear of it any more."""

    category = "permanent"


class RedirectRefused(ProviderError):
    """Redirects are not followed: they could lead to another receiver, or inside."""

    category = "transient"


class NotAccepted(ProviderError):
    """Any other status that is no success. Receivers are repaired: the standard asks for another attempt."""

    category = "transient"


class HostNotFound(ProviderError):
    """The name of the host is not known, for now."""

    category = "transient"


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    duration_ms: int


async def send_webhook(url: str, body: bytes, headers: Mapping[str, str], policy: ConnectionPolicy) -> Answer:
    """Returns the receiver's answer if it has accepted the message. Raises a ProviderError otherwise, whose details
    have `duration_ms`, and `status` if there was an answer."""
    begun = time.monotonic()
    try:
        async with limit_time(policy.max_seconds):
            status = await _post(url, body, headers, policy)
    except ProviderError as failure:
        failure.details["duration_ms"] = _count_ms(begun)
        raise
    return Answer(status, _count_ms(begun))


async def _post(url: str, body: bytes, headers: Mapping[str, str], policy: ConnectionPolicy) -> int:
    try:
        target = httpx2.URL(url)
        async with open_guarded("POST", target, policy, headers=headers, content=body) as response:
            answer = await _read_start(response)
            if response.is_success:
                return response.status_code
            # An answer from a private network is not shown to those who have named the URL.
            raise _make_error(response, "" if policy.trusts(target) else answer)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise make_error_from_exception(error, "The receiver") from error
    except NotFound as unknown:
        raise HostNotFound(str(unknown)) from unknown


async def _read_start(response: httpx2.Response) -> str:
    """Returns the start of the body; an endless or broken one changes nothing about the status."""
    read = b""
    try:
        async for chunk in response.aiter_raw(MAX_ANSWER):
            read += chunk
            if len(read) >= MAX_ANSWER:
                break
    except httpx2.HTTPError:
        return ""
    return read.decode("utf-8", "replace")


def _make_error(response: httpx2.Response, answer: str) -> ProviderError:
    status = response.status_code
    excerpt = make_excerpt(answer)[:_MAX_EXCERPT]
    details: dict[str, Any] = {"status": status}
    return _find_class(status)(
        f"The receiver answered {status}" + (f": {excerpt}" if excerpt else ""),
        details=details,
        retry_after=find_wait(response),
    )


def _find_class(status: int) -> type[ProviderError]:
    if 300 <= status < 400:
        return RedirectRefused
    if status >= 500:
        return ServiceUnavailable if status == httpx2.codes.SERVICE_UNAVAILABLE else ServerError
    return {408: NetworkTimeout, 410: Gone, 429: RateLimited}.get(status, NotAccepted)


def _count_ms(begun: float) -> int:
    return round((time.monotonic() - begun) * 1000)
