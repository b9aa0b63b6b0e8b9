"""Pages of other origins are refused, by what browsers say about their requests."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import product

import anyio
import pytest
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from state.settings import SettingsError, get_settings
from taskapi.api.operation import find_pages
from taskapi.api.problems import Problem
from taskapi.app import OPERATIONS
from taskapi.guard.browser import BrowserGuard
from tests.guard.small_app import SmallApp, send_to
from tests.taskapi.problems import expect_problem

TASKS = "/api/v1/tasks"
OWN = "http://127.0.0.1"
SAFE = ["GET", "HEAD", "OPTIONS"]
UNSAFE = ["POST", "PUT", "PATCH", "DELETE"]
SITES = [None, "none", "same-origin", "same-site", "cross-site", "Same-Origin", "", "same-origin, cross-site"]
ORIGINS = [
    None, OWN, "http://127.0.0.1:3000", "http://127.0.0.1:80", "https://127.0.0.1", "http://localhost", "http://[::1]",
    "tauri://localhost", "null", "", "http://127.0.0.1.example.com", "https://example.com", "HTTP://127.0.0.1",
]  # fmt: skip
NAVIGATIONS = [
    {},
    *({"Sec-Fetch-Mode": m, "Sec-Fetch-Dest": d} for m in ("navigate", "cors") for d in ("document", "iframe")),
]


@pytest.fixture
def small() -> SmallApp:
    return SmallApp()


@pytest.fixture
def allowed_origin() -> Iterator[str]:
    origin = "https://app.example.com"
    os.environ["CALLBOARD_CORS_ORIGINS"] = f"{origin}, http://localhost:3000"
    get_settings.cache_clear()
    yield origin
    del os.environ["CALLBOARD_CORS_ORIGINS"]
    get_settings.cache_clear()


async def find_passed(cases: Iterable[tuple[str, str, dict[str, str]]]) -> list[bool]:
    """For each method, path and headers: whether the guard lets the request pass."""
    passed: list[bool] = []

    async def note(_scope: Scope, _receive: Receive, _send: Send) -> None:
        passed[-1] = True

    guard = BrowserGuard(note, find_pages(OPERATIONS))
    for method, path, headers in cases:
        raw = [(name.lower().encode(), value.encode()) for name, value in {"Host": "127.0.0.1", **headers}.items()]
        passed.append(False)
        with suppress(Problem):
            await send_to(guard, {"method": method, "path": path, "headers": raw})
    return passed


def test_what_passes_is_of_our_own_pages_or_of_no_browser() -> None:
    cases = []
    for method, path, site, origin, navigation in product(SAFE + UNSAFE, ("/", TASKS), SITES, ORIGINS, NAVIGATIONS):
        said = {"Sec-Fetch-Site": site, "Origin": origin, **navigation}
        cases.append((method, path, {name: value for name, value in said.items() if value is not None}))
    for (method, path, headers), passes in zip(cases, anyio.run(find_passed, cases), strict=True):
        site, origin = headers.get("Sec-Fetch-Site"), headers.get("Origin")
        if site is None and origin is None:
            expected = True  # curl, and every other program
        elif site in (None, "same-origin", "none"):
            expected = origin == OWN or (origin is None and method in SAFE)
        else:
            opened = (headers.get("Sec-Fetch-Mode"), headers.get("Sec-Fetch-Dest")) == ("navigate", "document")
            expected = opened and (method, path) == ("GET", "/")
        assert passes == expected, (method, path, headers)


def test_the_whole_application_refuses_foreign_pages(small: SmallApp) -> None:
    client = small.connect()
    for method, path, site in product(SAFE + UNSAFE, ("/", TASKS, "/nothing", "/long"), ("same-site", "cross-site")):
        assert client.request(method, path, headers={"Sec-Fetch-Site": site}).status_code == 403
    assert small.passed == []
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert client.get("/", headers=link).status_code == 200


def test_a_header_that_comes_twice_is_refused(small: SmallApp) -> None:
    for name, value in (("Origin", OWN), ("Sec-Fetch-Site", "same-origin")):
        for second in (value, "null"):
            expect_problem(small.connect().get(TASKS, headers=[(name, value), (name, second)]), 403, "foreign-origin")
    assert small.passed == []


def test_our_own_origin_is_scheme_and_host() -> None:
    small = SmallApp(keyed=True)
    public = small.connect("https://callboard.example.com:8443", "192.0.2.10")
    for origin, status in {
        "https://callboard.example.com:8443": 200,
        "http://callboard.example.com:8443": 403,
        "https://callboard.example.com": 403,
        "https://example.com:8443": 403,
    }.items():
        assert public.post(TASKS, headers={"Origin": origin}).status_code == status


@pytest.mark.parametrize("media_type", ["application/json", "APPLICATION/JSON", "application/json; charset=utf-8"])
def test_a_body_may_be_json(small: SmallApp, media_type: str) -> None:
    assert small.connect().post(TASKS, content=b"{}", headers={"Content-Type": media_type}).json() == {"body": "{}"}


@pytest.mark.parametrize("media_type", [
    None, "", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
    "text/plain; application/json", "application/json-patch+json", "application/jsonp", "text/json",
    "application/json, text/plain",
])  # fmt: skip
@pytest.mark.parametrize("method", UNSAFE)
def test_a_body_must_be_json(small: SmallApp, method: str, media_type: str | None) -> None:
    headers = {} if media_type is None else {"Content-Type": media_type}
    for content in (b"{}", iter([b"{", b"}"])):  # with a length, and in chunks
        refused = small.connect().request(method, TASKS, content=content, headers=headers)
        assert "--json" in expect_problem(refused, 415, "unsupported-media-type")["detail"]
    assert small.passed == []


def test_no_body_needs_no_content_type(small: SmallApp) -> None:
    assert small.connect().post(TASKS).status_code == 200
    form = {"Content-Type": "application/x-www-form-urlencoded"}  # an empty form
    expect_problem(small.connect().post(TASKS, headers=form), 415, "unsupported-media-type")


# CORS.


def preflight(client: TestClient, origin: str) -> dict[str, str]:
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type,authorization"}
    response = client.options(TASKS, headers={"Origin": origin, "Sec-Fetch-Site": "cross-site", **asked})
    assert response.status_code == (200 if "access-control-allow-origin" in response.headers else 403), response.text
    return {name: value for name, value in response.headers.items() if name.startswith("access-control-")}


def test_there_is_no_cors_by_default(small: SmallApp) -> None:
    assert preflight(small.connect(), "https://app.example.com") == {}
    for response in (small.connect().get(TASKS), small.connect().get(TASKS, headers={"Origin": "null"})):
        assert not [name for name in response.headers if name.startswith("access-control-")]


def test_configured_origins_may_use_the_api(small: SmallApp, allowed_origin: str) -> None:
    client = small.connect()
    answer = preflight(client, allowed_origin)
    assert answer["access-control-allow-origin"] == allowed_origin
    names = set(answer["access-control-allow-headers"].lower().split(", "))
    assert {"authorization", "content-type", "idempotency-key", "last-event-id"} <= names
    assert {"GET", "POST", "PUT", "DELETE"} <= set(answer["access-control-allow-methods"].split(", "))
    assert "access-control-allow-credentials" not in answer
    foreign = {"Origin": allowed_origin, "Sec-Fetch-Site": "cross-site"}
    for response in (
        client.get(TASKS, headers=foreign),
        client.post(TASKS, json={}, headers=foreign),
        client.get("/nothing", headers=foreign),
        client.post(TASKS, content=b"{}", headers=foreign),
        client.get("/broken", headers=foreign),
    ):
        assert response.headers["access-control-allow-origin"] == allowed_origin, response.text
        assert "Origin" in response.headers["vary"]
    assert small.passed == [f"GET {TASKS}", f"POST {TASKS}", "GET /broken"]


@pytest.mark.parametrize(
    "origin", ["https://app.example.com:444", "http://app.example.com", "https://example.com", "null"]
)
def test_other_origins_may_not(small: SmallApp, allowed_origin: str, origin: str) -> None:
    client = small.connect()
    assert preflight(client, origin) == {}
    refused = client.post(TASKS, json={}, headers={"Origin": origin, "Sec-Fetch-Site": "cross-site"})
    expect_problem(refused, 403, "foreign-origin")
    assert small.passed == []


@pytest.mark.parametrize(
    "origin", ["*", "https://*.example.com", "https://example.com/", "example.com", "null", "HTTPS://A.B"]
)
def test_an_origin_that_no_browser_sends_is_refused_at_the_start(origin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLBOARD_CORS_ORIGINS", origin)
    get_settings.cache_clear()
    try:
        with pytest.raises(SettingsError, match="CALLBOARD_CORS_ORIGINS"):
            get_settings()
    finally:
        monkeypatch.undo()
        get_settings.cache_clear()
