"""HTTP statuses and exceptions become error types, Retry-After is read, and messages contain no credentials. The whole
table of statuses is in tests/control/test_failures.py."""

from datetime import UTC, datetime

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers import errors
from providers.blocking import wait_for
from providers.errors import (
    MAX_EXCERPT,
    ProviderError,
    find_error_class,
    make_error_from_exception,
    make_excerpt,
)
from state.http_errors import parse_retry_after

REQUEST = httpx2.Request("POST", "https://example.com/v1", headers={"Authorization": "Bearer abc-very-secret"})


def response(status: int, text: str = "", **headers: str) -> httpx2.Response:
    return httpx2.Response(status, text=text, headers=headers, request=REQUEST)


def make_error(answer: httpx2.Response, service: str) -> ProviderError:
    return wait_for(errors.make_error_from_response(answer, service))


@pytest.mark.parametrize(
    ("status", "name", "category"),
    [
        (400, "InvalidInput", "permanent"),
        (401, "AuthenticationFailed", "permanent"),
        (402, "PermissionDenied", "permanent"),
        (403, "PermissionDenied", "permanent"),
        (404, "NotFound", "permanent"),
        (408, "NetworkTimeout", "transient"),
        (409, "Conflict", "transient"),
        (422, "InvalidInput", "permanent"),
        (429, "RateLimited", "transient"),
        (500, "ServerError", "transient"),
        (502, "ServerError", "transient"),
        (503, "ServiceUnavailable", "transient"),
        (504, "ServerError", "transient"),
        (599, "ServerError", "transient"),
        (301, "ProviderError", "unknown"),
        (418, "ProviderError", "unknown"),
    ],
)
def test_status_becomes_type_and_category(status: int, name: str, category: str) -> None:
    error = make_error(response(status, "no"), "leonardo")
    assert (error.type, error.category) == (name, category)
    assert error.details == {"service": "leonardo", "status": status, "body": "no"}
    assert str(error) == f"leonardo answered {status}: no"


NOW = datetime(2026, 1, 20, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        (" 30 ", 30),
        ("99999", 3600),
        ("Tue, 20 Jan 2026 12:01:00 GMT", 60),
        ("Tue, 20 Jan 2026 11:00:00 GMT", 0),
        ("Fri, 20 Feb 2026 12:00:00 GMT", 3600),
        (None, None),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("٣", None),
        ("Tue, 99 Jan 2026 12:01:00 GMT", None),
        ("Tue, 20 Jan 2026 12:01:00 +999999999999999", None),
    ],
)
def test_retry_after(value: str | None, seconds: int | None) -> None:
    assert parse_retry_after(value, NOW) == seconds


@given(st.text())
def test_retry_after_takes_any_text(value: str) -> None:
    seconds = parse_retry_after(value)
    assert seconds is None or 0 <= seconds <= 3600


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503])
def test_retry_after_is_kept_for_a_transient_status(status: int) -> None:
    assert make_error(response(status, **{"Retry-After": "12"}), "x").retry_after == 12
    assert make_error(response(400, **{"Retry-After": "12"}), "x").retry_after is None


def test_a_long_body_is_cut() -> None:
    error = make_error(response(500, "long " * 1000), "x")
    assert len(str(error)) < 600


def test_credentials_do_not_get_into_messages() -> None:
    body = "key abc-very-secret of header Bearer abc-very-secret, or sk-or-v1-00112233445566 is wrong"
    error = make_error(response(401, body), "x")
    assert "secret" not in str(error) + str(error.details)
    assert "sk-or" not in str(error) + str(error.details)
    assert "is wrong" in str(error)
    assert make_excerpt("nothing to hide") == "nothing to hide"


@pytest.mark.parametrize("streamed", [False, True])
def test_no_half_of_a_key_is_left_where_a_body_is_cut(streamed: bool) -> None:
    for position in range(MAX_EXCERPT - 30, MAX_EXCERPT + 1):
        body = "." * position + "abc-very-secret" + "." * 30_000
        if streamed:
            stream = httpx2.ByteStream(body.encode())
            error = make_error(httpx2.Response(401, stream=stream, request=REQUEST), "x")
        else:
            error = make_error(response(401, body), "x")
        assert not set("abcverysecret") & set(error.details["body"])


def test_moderation_means_invalid_input_with_any_of_its_statuses() -> None:
    assert make_error(response(403, "content moderation filter: naked"), "x").type == "InvalidInput"
    assert make_error(response(403, "not your plan"), "x").type == "PermissionDenied"


@pytest.mark.parametrize(
    ("exception", "name", "sent"),
    [
        (httpx2.ReadTimeout("slow"), "NetworkTimeout", True),
        (httpx2.ConnectTimeout("slow"), "NetworkTimeout", False),
        (httpx2.ConnectError("refused"), "NetworkTimeout", False),
        (httpx2.ReadError("reset"), "NetworkTimeout", True),
        (httpx2.RemoteProtocolError("cut"), "NetworkTimeout", True),
        (httpx2.DecodingError("gzip"), "ServerError", True),
        (httpx2.UnsupportedProtocol("ftp"), "InvalidInput", True),
        (httpx2.InvalidURL("bad"), "InvalidInput", True),
        (httpx2.TooManyRedirects("round"), "ProviderError", True),
    ],
)
def test_exceptions_become_types(exception: httpx2.HTTPError | httpx2.InvalidURL, name: str, sent: bool) -> None:
    error = make_error_from_exception(exception, "midjourney")
    assert error.type == name
    assert error.details["sent"] is sent


def test_every_type_has_the_category_of_the_design() -> None:
    transient = {"RateLimited", "ServiceUnavailable", "ServerError", "NetworkTimeout", "Conflict", "TooEarly"}
    ours = [kind for kind in ProviderError.__subclasses__() if kind.__module__ == errors.__name__]  # actors add theirs
    for kind in ours:
        assert kind.category == ("transient" if kind.__name__ in transient else "permanent")
    assert len(ours) == 10
    assert find_error_class(500) is errors.ServerError
