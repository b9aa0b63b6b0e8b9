"""What a key may not do is not offered: on every page, every button is clicked, and the server refuses nobody."""

import re
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, Request, Response, Route, expect

from state.access.keys import create_key
from tests.console.browser import Visit
from tests.console.server import ServerProcess
from tests.console.test_files import FOLDER
from tests.console.test_task_actions import is_key_known
from tests.support.builders import TaskBuilder
from tests.support.eventually import eventually

PAGE = re.compile(r'path: "(?P<path>[^"]+)".*?title: "(?P<title>[^"]+)"(?:.*?needs: "(?P<needs>[^"]+)")?')
KEYS: dict[str, tuple[Any, str | None]] = {
    "reader": ("reader", None),
    "reader of acme": ("reader", "acme"),
    "submitter of acme": ("submitter", "acme"),
    "operator of acme": ("operator", "acme"),
}
NEXT_FRAME = "() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))"
ID = re.compile("_[0-9a-f]{32}")
BUSY = "Processing…"
READS = ("/stream-tokens", "/preview")  # what a POST only reads


@pytest.fixture
def keys(database_url: str, server: ServerProcess) -> dict[str, str]:
    made = {name: create_key(name, role, tenant=tenant)[1] for name, (role, tenant) in KEYS.items()}
    made["root"] = create_key("root", "operator")[1]
    eventually(lambda: is_key_known(server, made["root"]))
    return made


@pytest.fixture
def addresses(make_task: TaskBuilder, server: ServerProcess, keys: dict[str, str]) -> dict[str, str]:
    """Something of acme for each page to show; the addresses of pages that show one thing."""

    def create(path: str, **body: Any) -> dict[str, Any]:
        made: dict[str, Any] = server.call("POST", path, {"tenant": "acme", **body}, key=keys["root"])
        return made

    for status in ("queued", "running", "paused", "completed", "dead"):
        summary = {"content": "The sea is wide. Ships are small."}
        task = make_task(status, actor="summarize", payload=summary, tenant="acme", target=f"ship/{status}")
    statistics = {"agent_name": "text", "task_type": "statistics", "input": {"text": "One. Two."}}
    make_task("completed", actor="agent", payload=statistics, tenant="acme")
    create("/schedules", name="hourly", cron="@hourly", actor="agent", payload=statistics)
    workflow = create("/workflows", name="Catalog", steps=[{"key": "publish", "kind": "approval"}])
    items = [{"title": title, **statistics} for title in ("cover", "index")]
    project = create("/projects", name="Spring", items=items)
    server.call("POST", f"/projects/{project['project_id']}/run", {"mode": "loop"}, key=keys["root"])
    server.call("PUT", "/gates/tenant:acme", {"max_concurrent": 2}, key=keys["root"])
    return {
        "/tasks/:id": f"/tasks/{task.task_id}",
        "/projects/:id": f"/projects/{project['project_id']}",
        "/workflows/:id": f"/workflows/{workflow['workflow_id']}",
        "/gates/:key*": f"/gates/{quote('tenant:acme', safe='')}",
    }


def list_pages(operations: list[str]) -> list[tuple[str, str]]:
    """Path and title of each page that is offered to a caller who may use these operations."""
    found = [match.groupdict() for match in PAGE.finditer((FOLDER / "pages.js").read_text())]
    assert len(found) == len(list(re.finditer("path:", (FOLDER / "pages.js").read_text())))
    allowed = {operation.replace(" /api/v1", " ", 1) for operation in operations}
    return [(each["path"], each["title"]) for each in found if each["needs"] is None or each["needs"] in allowed]


class Requests:
    """What a page asks for. The server says whether the caller may, but changes nothing, so that every button stays
    where it is: changes go to ids that are nobody's, with a body that cannot be read."""

    def __init__(self, page: Page) -> None:
        self.refused: list[str] = []
        self.changes: list[str] = []
        page.on("response", self._note)
        page.route("**/api/v1/**", self._spoil)

    def _note(self, response: Response) -> None:
        if response.status in (401, 403):
            self.refused.append(f"{response.request.method} {response.url}")

    def _spoil(self, route: Route) -> None:
        request: Request = route.request
        if request.method == "GET" or request.url.endswith(READS):
            return route.continue_()
        self.changes.append(f"{request.method} {request.url.split('/api/v1')[1]}")
        headers = {**request.headers, "content-type": "application/json"}
        return route.continue_(url=ID.sub("_" + "0" * 32, request.url), post_data="{", headers=headers)


def answer(dialog: Locator) -> None:
    """Says yes to a dialog, then leaves it."""
    for field in dialog.locator("input:required:visible").all():
        field.fill("7" if field.get_attribute("type") == "number" else "somebody")
    dialog.locator(".dialog-acts button").last.click()
    expect(dialog.locator("[aria-busy=true]")).to_have_count(0)
    if dialog.is_visible():
        dialog.press("Escape")


def click_everything(page: Page) -> list[str]:
    """Clicks each button of the page once; returns their names."""
    buttons = page.locator("main button:visible:enabled")
    clicked: list[str] = []
    while True:
        page.evaluate(NEXT_FRAME)
        expect(page.locator("main [aria-busy=true]")).to_have_count(0)
        names = buttons.evaluate_all("all => all.map((each) => each.ariaLabel ?? each.textContent)")
        if BUSY in names:
            continue
        fresh = [name for name in names if name not in clicked]
        if not fresh:
            return clicked
        clicked.append(fresh[0])
        page.locator("main").get_by_role("button", name=fresh[0], exact=True).first.click()


@pytest.mark.parametrize("name", list(KEYS))
def test_no_button_is_refused(
    name: str, visit: Visit, server: ServerProcess, keys: dict[str, str], addresses: dict[str, str]
) -> None:
    page = visit.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(visit.url)
    page.evaluate("key => sessionStorage.setItem('callboard-key', key)", keys[name])
    page.reload()
    page.add_locator_handler(page.locator("dialog[open]"), answer)
    requests = Requests(page)
    clicked: dict[str, list[str]] = {}
    for path, title in list_pages(server.call("GET", "/caller", key=keys[name])["operations"]):
        visit.open(addresses.get(path, path))
        expect(page).to_have_title(f"{title} · Callboard" if path != "/workflows/:id" else "Catalog · Callboard")
        expect(page.locator("main .loading")).to_have_count(0)
        expect(page.locator("main h1")).to_be_visible()
        clicked[path] = click_everything(page)
        page.locator("main h1").click()  # a dialog that came late is answered before
        assert requests.refused == [], f"{path}: {clicked[path]}"
    if name.startswith("reader"):
        assert requests.changes == []
        assert "status" in clicked["/tasks/:id"]  # what only changes the page is there
    else:
        for offered in ("Retry", "Dismiss"):
            assert offered in clicked["/tasks/:id"]
        assert {"tasks", "projects", "workflows"} <= {change.split("/")[1] for change in requests.changes}
