"""Projects: the list, and a project's page, with real runs of real workers."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from state.access.keys import create_key
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


def test_force_stop_one_and_retry_its_item(
    visit: Visit, server: ServerProcess, start: Start, check_page: CheckPage, hold: Path
) -> None:
    start()
    project_id = create(server, "Spring catalog", entry("cover", hold=str(hold)), entry("index"))
    page = open_project(visit, project_id)
    button(page, "Loop").click()
    expect(item(page, "cover")).to_contain_text("in progress")
    button(page, "Force-stop").click()
    question = page.get_by_role("dialog", name="Force-stop Spring catalog?")
    expect(question).to_contain_text("Its commands are killed")
    button(question, "Back").click()
    expect(question).to_have_count(0)
    assert server.call("GET", f"/projects/{project_id}/queue/status")["should_stop"] is False
    button(page, "Force-stop").click()
    button(question, "Force-stop").click()
    receipt = page.get_by_role("status").filter(has_text="Force-stopped: nothing is still running")
    expect(receipt.get_by_role("listitem")).to_contain_text("Killed: run tq_")
    expect(item(page, "cover")).to_contain_text("Canceled Its run was canceled")
    expect(item(page, "index")).to_contain_text("pending")
    expect(page.locator("dl")).to_contain_text("force-stop (1)")
    check_page(page, "project-force-stop")
    button(receipt, "Close").click()
    expect(receipt).to_have_count(0)
    button(page, "Retry cover").click()
    expect(item(page, "cover")).to_contain_text("pending")
    hold.touch()
    button(page, "Play cover").click()
    expect(item(page, "cover")).to_contain_text("completed")
    expect(item(page, "index")).to_contain_text("pending")


def test_pause_and_resume(visit: Visit, server: ServerProcess, start: Start, hold: Path) -> None:
    start()
    page = open_project(visit, create(server, "Spring catalog", entry("cover", hold=str(hold))))
    button(page, "Play").click()
    expect(item(page, "cover")).to_contain_text("in progress")
    expect(button(page, "Stop")).to_have_count(0)  # a single run ends with its item anyway
    button(page, "Pause").click()
    expect(page.locator(".head")).to_contain_text("paused")
    for name in ("Play", "Loop"):
        expect(button(page, name)).to_be_disabled()
    hold.touch()
    button(page, "Resume").click()
    expect(item(page, "cover")).to_contain_text("completed")
    expect(page.locator(".head")).to_contain_text("done")


def test_a_refused_start_is_shown(visit: Visit, server: ServerProcess, hold: Path) -> None:
    """Somebody else starts the queue between the click and its request."""
    project_id = create(server, "Spring catalog", entry("cover", hold=str(hold)))
    page = open_project(visit, project_id)
    held: list[Route] = []
    page.route("**/run", lambda route: held.append(route))  # noqa: PLW0108  (Playwright marks the function)
    button(page, "Play").click()
    busy = button(page, "Processing…")
    expect(busy).to_be_disabled()
    expect(busy).to_have_attribute("aria-busy", "true")
    run_id = server.call("POST", f"/projects/{project_id}/run", {"mode": "loop"})["run_id"]
    expect(button(page, "Loop")).to_be_disabled()
    held[0].continue_()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("queue-already-running")
    expect(alert.get_by_role("link")).to_have_attribute("href", f"#/tasks/{run_id}")
    expect(button(page, "Play")).to_be_disabled()
    expect(button(page, "Play")).to_have_attribute("title", "The queue is already running.")


def test_a_lost_network_is_shown_and_nothing_is_lost(
    visit: Visit, server: ServerProcess, start: Start, hold: Path
) -> None:
    start()
    project_id = create(server, "Spring catalog", entry("cover", hold=str(hold)), entry("index"))
    page = open_project(visit, project_id)
    page.evaluate("window.isTheSame = true")
    button(page, "Loop").click()
    expect(item(page, "cover")).to_contain_text("in progress")
    server.kill()
    button(page, "Stop").click()
    expect(page.get_by_role("alert").filter(has_text="No answer")).to_contain_text(
        "this page shows when the server is back"
    )
    expect(page.get_by_text("The server cannot be reached", exact=True)).to_be_visible()
    hold.touch()
    server.start()
    for title in ("cover", "index"):
        expect(item(page, title)).to_contain_text("completed")
    expect(page.get_by_text("Nothing is running.")).to_be_visible()
    expect(page.get_by_text("The server cannot be reached", exact=True)).to_have_count(0)
    assert page.evaluate("window.isTheSame")


def test_two_tabs_show_the_same(visit: Visit, server: ServerProcess, hold: Path) -> None:
    project_id = create(server, "Spring catalog", entry("cover", hold=str(hold)))
    other = Visit(visit.page.context.new_page(), server.url)
    page, list_page = open_project(visit, project_id), other.open("/projects")
    expect(button(list_page, "Loop Spring catalog")).to_be_enabled()
    button(page, "Loop").click()
    expect(button(list_page, "Loop Spring catalog")).to_be_disabled()
    button(list_page, "Stop Spring catalog").click()
    expect(page.locator(".head")).to_contain_text("stopped")  # its run had not begun: nobody worked
    expect(button(page, "Loop")).to_be_enabled()
    assert other.errors == []


def test_several_projects_are_started_and_stopped(
    visit: Visit, server: ServerProcess, start: Start, check_page: CheckPage, hold: Path
) -> None:
    ids = [create(server, name, entry("cover", hold=str(hold))) for name in ("Spring", "Summer", "Autumn")]
    server.call("POST", f"/projects/{ids[1]}/run", {"mode": "loop"})
    start()
    page = visit.open("/projects")
    expect(button(page, "Loop selected")).to_be_disabled()
    page.get_by_role("checkbox", name="Select all").check()
    expect(page.get_by_text("3 projects selected")).to_be_visible()
    button(page, "Loop selected").click()
    receipt = page.locator(".verdict")
    expect(receipt).to_contain_text("2 of 3 projects started (loop)")
    lines = receipt.get_by_role("listitem")
    expect(lines.filter(has_text="Summer")).to_contain_text("refused")
    expect(lines.filter(has_text="Summer")).to_contain_text("queue-already-running")
    for name in ("Spring", "Autumn"):
        expect(lines.filter(has_text=name)).to_contain_text("started")
    expect(page.get_by_text("Processing…", exact=True)).to_have_count(3)
    check_page(page, "projects")
    for name in ("Spring", "Summer"):
        page.get_by_role("checkbox", name=f"Select {name}").check()
    button(page, "Stop selected").click()
    expect(receipt).to_contain_text("2 of 2 projects asked to stop")
    expect(page.get_by_text("stopping", exact=True)).to_have_count(2)
    hold.touch()
    expect(page.get_by_text("done", exact=True)).to_have_count(3)


def test_make_a_project_and_add_an_item(
    visit: Visit, server: ServerProcess, start: Start, check_page: CheckPage
) -> None:
    start()
    page = visit.open("/projects")
    expect(page.get_by_text("No projects yet.")).to_be_visible()
    button(page, "New project").click()
    page.get_by_label("Name").fill("Spring catalog")
    button(page, "Create").click()
    expect(page.get_by_text("No items yet.")).to_be_visible()
    expect(button(page, "Play")).to_be_disabled()
    button(page, "Add item").click()
    form = page.get_by_role("dialog", name="Add an item")
    form.get_by_label("Title").fill("Count the words")
    form.get_by_role("combobox", name=re.compile("^Agent")).select_option("text · statistics")
    expect(form.get_by_role("textbox", name="Input")).to_have_value(re.compile('"text"'))
    form.get_by_role("textbox", name="Input").fill('{\n  "text": 7\n}')
    button(form, "Add").click()
    expect(form.get_by_role("alert").first).to_contain_text("text: ")
    check_page(page, "project-add-item")
    form.get_by_role("textbox", name="Input").fill('{"text": "Spring is here."}')
    button(form, "Add").click()
    expect(form).to_have_count(0)
    button(page, "Play").click()
    expect(item(page, "Count the words")).to_contain_text('"words":3')


def test_markup_is_text(visit: Visit, server: ServerProcess, start: Start, check_page: CheckPage) -> None:
    start()
    markup = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    long = markup + "x" * (500 - len(markup))
    project_id = create(server, long[:200], entry(long), entry(markup, fails=True))
    page = open_project(visit, project_id)
    button(page, "Loop").click()
    expect(item(page, long)).to_contain_text(f'"name":"{markup}')
    expect(page.locator("live-run")).to_contain_text("Runs again")
    check_page(page, "project-markup")
    button(page, "Force-stop").click()
    expect(page.get_by_role("dialog")).to_contain_text(markup)
    button(page.get_by_role("dialog"), "Force-stop").click()
    expect(page.locator(".verdict")).to_be_visible()
    visit.open("/projects")
    expect(page.get_by_role("link", name=long[:200])).to_be_visible()
    check_page(page, "projects-markup")


def test_a_reader_sees_no_button_that_would_be_refused(visit: Visit, server: ServerProcess, hold: Path) -> None:
    project_id = create(server, "Spring catalog", entry("cover"), entry("index"))
    server.call("POST", f"/projects/{project_id}/run", {"mode": "loop"})
    page = visit.page
    page.goto(f"{visit.origin}/#/projects")
    page.get_by_label("API key").fill(create_key("reader", "reader")[1])
    button(page, "Continue").click()
    main = page.get_by_role("main")
    expect(main.get_by_role("link", name="Spring catalog")).to_be_visible()
    expect(main.get_by_role("checkbox")).to_have_count(0)
    expect(main.get_by_role("button")).to_have_count(1)  # light or dark
    main.get_by_role("link", name="Spring catalog").click()
    expect(item(page, "cover")).to_contain_text("pending")
    expect(page.get_by_text("Processing…", exact=True)).to_be_visible()
    filters = main.get_by_role("group", name="Items by status").get_by_role("button")
    expect(main.get_by_role("button")).to_have_count(1 + filters.count())


def test_pictures_are_shown_as_they_come(
    visit: Visit, server: ServerProcess, start: Start, check_page: CheckPage, hold: Path
) -> None:
    start()
    pictures = [
        {"title": text, "agent_name": "media", "task_type": "generate",
         "input": {"prompt": text, "params": {"steps": 4, "step_seconds": 0}}}
        for text in ("A lighthouse at dusk", "Tulips in a vase", "A harbour in the rain")
    ]  # fmt: skip
    slow = entry("Count the pages", hold=str(hold))
    project_id = create(server, "Spring catalog", *pictures, slow, entry("Index"), entry("Imprint"))
    page = open_project(visit, project_id)
    button(page, "Loop").click()
    expect(item(page, "A harbour in the rain").get_by_role("img")).to_be_visible()
    expect(item(page, "Count the pages")).to_contain_text("in progress")
    check_page(page, "project")
