"""Projects: the list, and a project's page, with real runs of real workers."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.browser import Visit
from tests.console.server import ServerProcess
from tests.support.workers import WorkerTree

ACTORS = "actors,tests.projects.agents"
Start = Callable[..., WorkerTree]
CheckPage = Callable[[Page, str], None]


@pytest.fixture
def server(serve: Callable[..., ServerProcess]) -> ServerProcess:
    return serve(actors=ACTORS)


@pytest.fixture
def start(worker: Start) -> Start:
    return partial(worker, actors=ACTORS)


@pytest.fixture
def hold(tmp_path: Path) -> Path:
    """Items with it end when there is such a file."""
    return tmp_path / "go"


def entry(title: str, **options: Any) -> dict[str, Any]:
    return {"title": title, "agent_name": "diary", "task_type": "write", "input": {"name": title, **options}}


def create(server: ServerProcess, name: str, *items: dict[str, Any]) -> str:
    made: str = server.call("POST", "/projects", {"name": name, "items": items})["project_id"]
    return made


def open_project(visit: Visit, project_id: str) -> Page:
    page = visit.open(f"/projects/{project_id}")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    return page


def button(page: Page | Locator, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def item(page: Page, title: str) -> Locator:
    return page.get_by_role("listitem", name=title, exact=True)


def test_loop_a_project_and_stop_it(visit: Visit, server: ServerProcess, start: Start, hold: Path) -> None:
    start()
    project_id = create(server, "Spring catalog", entry("page 1"), entry("page 2", hold=str(hold)), entry("page 3"))
    page = open_project(visit, project_id)
    expect(button(page, "Stop")).to_have_count(0)
    button(page, "Loop").click()
    expect(item(page, "page 1")).to_contain_text("completed")
    expect(item(page, "page 2")).to_contain_text("in progress")
    expect(page.get_by_text("Processing…")).to_be_visible()
    expect(page.locator(".how")).to_contain_text("loop · ")
    expect(page.locator(".how")).to_contain_text("run 2")
    for name in ("Play", "Loop"):
        expect(button(page, name)).to_be_disabled()
    expect(button(page, "Play page 3")).to_be_disabled()
    button(page, "Stop").click()
    expect(button(page, "Stopping…")).to_be_disabled()
    expect(page.get_by_text("Stops after this item.")).to_be_visible()
    hold.touch()
    expect(item(page, "page 2")).to_contain_text("completed")
    expect(page.get_by_text("Nothing is running.")).to_be_visible()
    expect(item(page, "page 3")).to_contain_text("pending")
    for name in ("Play", "Loop"):
        expect(button(page, name)).to_be_enabled()
    expect(button(page, "Stop")).to_have_count(0)


def test_pictures(visit: Visit, server: ServerProcess, start: Start, check_page: CheckPage, hold: Path) -> None:
    start()
    prompts = ["A lighthouse at dusk", "Tulips in a vase", "A harbour in the rain"]
    pictures = [
        {"title": text, "agent_name": "media", "task_type": "generate",
         "input": {"prompt": text, "params": {"steps": 4, "step_seconds": 0}}}
        for text in prompts
    ]  # fmt: skip
    slow = entry("Count the pages", hold=str(hold))
    project_id = create(server, "Spring catalog", *pictures, slow, entry("Index"), entry("Imprint"))
    page = open_project(visit, project_id)
    button(page, "Loop").click()
    expect(item(page, "A harbour in the rain").get_by_role("img")).to_be_visible()
    expect(item(page, "Count the pages")).to_contain_text("in progress")
    check_page(page, "project")
    page = visit.open("/projects")
    expect(page.get_by_role("link", name="Spring catalog")).to_be_visible()
    check_page(page, "projects")
