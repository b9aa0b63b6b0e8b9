"""A real browser opens pages of another port and of another site. They try everything, and reach nothing."""

import base64
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.guard.chromium import CHROMIUM, OtherSite, browse
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.taskapi.running import RunningServer

PAGES = Path(__file__).parent / "pages"
PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
EVERYTHING = "default-src * 'unsafe-inline' data:"

Seen = list[tuple[str, str, str, int]]
"""method, path, Sec-Fetch-Site (or the foreign host), status"""


class Recorder:
    """Notes what the server is asked, and what it answers."""

    def __init__(self, app: ASGIApp, seen: Seen) -> None:
        self._app = app
        self._seen = seen

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def note(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = Headers(scope=scope)
                site = headers.get("sec-fetch-site", headers["host"].partition(":")[0])
                self._seen.append((scope["method"], scope["path"], site, message["status"]))
            await send(message)

        await self._app(scope, receive, note)


class Site:
    """The server, with a page of its own that runs scripts, and a picture."""

    def __init__(self) -> None:
        self.seen: Seen = []
        self.reports: list[dict[str, Any]] = []
        self.server = RunningServer()
        self.server.app.add_middleware(Recorder, seen=self.seen)
        self.server.app.router.routes += [
            Route("/own.html", self._show_page),
            Route("/picture.png", self._show_picture),
            Route("/report", self._take_report, methods=["POST"]),
        ]

    async def _show_page(self, _: Request) -> Response:
        return HTMLResponse((PAGES / "own.html").read_text(), headers={"Content-Security-Policy": EVERYTHING})

    async def _show_picture(self, _: Request) -> Response:
        return Response(PICTURE, media_type="image/png")

    async def _take_report(self, request: Request) -> Response:
        self.reports.append(json.loads(await request.body()))
        return Response(status_code=204)


@pytest.fixture
def site(actors: None) -> Iterator[Site]:
    site = Site()
    with site.server:
        yield site


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium (Debian: apt install chromium)")
def test_pages_of_other_origins_reach_nothing(site: Site, connection: Observer, tmp_path: Path) -> None:
    target = site.server.url
    with OtherSite(PAGES / "attack.html") as other:

        def lead_through(host: str, then: str) -> str:
            return f"http://{host}:{other.port}/?{urlencode({'target': target, 'next': then})}"

        home = f"{target}/"
        attacks = lead_through("127.0.0.1", lead_through("localhost", lead_through("evil.example", home)))
        with browse(f"{target}/own.html?{urlencode({'next': attacks})}", tmp_path):
            eventually(lambda: ("GET", "/", "cross-site", 200) in site.seen, 90, what="the last link leads home")
        reports = {report["page"]: report["outcomes"] for report in other.reports}

    # Our own page works.
    [own] = site.reports
    assert own["outcomes"] == {
        "get": 200, "post": 202, "post without a type": 415, "image": "loaded", "stream": "opened"
    }  # fmt: skip
    assert connection.fetch_one("SELECT count(*) AS n FROM callboard.tasks")["n"] == 1

    # The others have read nothing. What they could send, the server has refused.
    assert set(reports) == {f"http://{host}:{other.port}" for host in ("127.0.0.1", "localhost", "evil.example")}
    for outcomes in reports.values():
        assert {name for name, outcome in outcomes.items() if outcome == "sent"} == {
            "beacon", "iframe", "form", "form multipart", "form text"
        }  # fmt: skip
        assert set(outcomes.values()) <= {"sent", "refused", "opaque"}
        assert len(outcomes) == 19
    foreign = [each for each in site.seen if each[2] not in ("none", "same-origin")]
    rebound = [each for each in foreign if each[2] == "rebound.example"]
    assert set(rebound) == {("GET", "/api/v1/tasks", "rebound.example", 421)}
    assert len(rebound) >= 3  # a browser tries again after a 421
    assert foreign.count(("GET", "/", "cross-site", 200)) == 1  # of all, only the link has opened a page
    refused = [each for each in foreign if each not in rebound and each != ("GET", "/", "cross-site", 200)]
    assert {status for *_, status in refused} == {403}
    counts = Counter((method, path) for method, path, *_ in refused)
    assert counts["POST", "/api/v1/tasks"] >= 3 * 6  # fetch twice, the beacon, three forms: all have arrived
    assert counts["GET", "/api/v1/tasks"] >= 3 * 4
    assert counts["OPTIONS", "/api/v1/tasks"] >= 3 * 4
    assert counts["GET", "/picture.png"] >= 3 * 2
    assert counts["GET", "/api/v1/queues/stream"] >= 3
    assert counts["GET", "/"] == 3  # frames
