"""Targets: which task blocks the others, since when, and how the next one starts."""

import re
from collections.abc import Callable
from functools import partial

import pytest
from playwright.sync_api import Locator, Page, expect

from state.access.keys import create_key
from tests.console.browser import Visit
from tests.console.keys import button, open_with_key
from tests.console.server import ServerProcess
from tests.console.task_fixtures import Start, Submit, server, submit  # noqa: F401  (fixtures)
from tests.support.workers import TEST_ACTORS

CheckPage = Callable[[Page, str], None]
MARKUP = "<img src=x onerror=alert(1)>/a b?c#d%2F&e"


@pytest.fixture
def start(worker: Start) -> Start:
    return partial(worker, actors=TEST_ACTORS)


@pytest.fixture
def blocked(submit: Submit) -> list[str]:  # noqa: F811
    """Three tasks of a target, of which the first will be dead and the second cannot end soon."""
    made = [submit("fail", {}, target="printer", max_attempts=1)]
    return [*made, *(submit("steps", {"seconds": 60}, target="printer") for _ in range(2))]


def target(page: Page, name: str) -> Locator:
    return page.get_by_role("row").filter(has=button(page, name))


def act(page: Page, label: str, task_id: str) -> None:
    """Presses a button of a task, and confirms."""
    page.get_by_role("button", name=re.compile(f"^{label} {task_id[:7]}….*{task_id[-4:]}")).click()
    button(page, f"{label} the task").click()


def test_clear_a_dead_task_and_the_next_one_runs(
    visit: Visit,
    blocked: list[str],
    start: Start,
    check_page: CheckPage,
) -> None:
    dead, second, third = blocked
    page = visit.open("/targets")
    expect(target(page, "printer")).to_contain_text("queued")
    start()
    expect(target(page, "printer")).to_contain_text("dead")  # without a reload
    expect(target(page, "printer")).to_contain_text("2 tasks")
    expect(target(page, "printer").get_by_role("link")).to_have_attribute("href", f"#/tasks/{dead}")
    button(page, "printer").click()
    tasks = page.get_by_role("table", name="Tasks of printer").locator("tbody tr")
    expect(tasks).to_have_count(3)
    expect(tasks.first).to_contain_text("RuntimeError")
    for place, task_id in enumerate(blocked):
        expect(tasks.nth(place).get_by_role("link")).to_have_attribute("href", f"#/tasks/{task_id}")
    check_page(page, "targets")
    page.get_by_role("button", name=re.compile("^Clear")).click()
    expect(page.get_by_role("dialog")).to_contain_text("The next task of printer may start.")
    button(page, "Back").click()
    expect(target(page, "printer")).to_contain_text("dead")
    act(page, "Clear", dead)
    expect(page.locator(".toast")).to_contain_text("is canceled.")
    expect(target(page, "printer")).to_contain_text("running")
    expect(target(page, "printer").get_by_role("link")).to_have_attribute("href", f"#/tasks/{second}")
    expect(tasks).to_have_count(2)
    expect(tasks.last.get_by_role("link")).to_have_attribute("href", f"#/tasks/{third}")
    expect(page.get_by_role("button", name=re.compile("^(Clear|Resume)"))).to_have_count(0)


def test_resume_a_paused_task(visit: Visit, server: ServerProcess, blocked: list[str], start: Start) -> None:  # noqa: F811
    server.call("POST", f"/tasks/{blocked[0]}/cancel")
    server.call("POST", f"/tasks/{blocked[1]}/pause")
    start()
    page = visit.open("/targets?show=blocked")
    expect(target(page, "printer")).to_contain_text("paused")
    act(page, "Resume", blocked[1])
    expect(page.locator(".toast")).to_contain_text(
        re.compile("is (queued|running|completed)")
    )  # a worker is waiting for it
    expect(page.get_by_text("No blocked target.")).to_be_visible()  # nothing blocks it any more
    button(page, "Show all").click()
    expect(target(page, "printer")).to_contain_text("running")
    expect(target(page, "printer").get_by_role("link")).to_have_attribute("href", f"#/tasks/{blocked[1]}")


def test_filter(visit: Visit, server: ServerProcess, submit: Submit, check_page: CheckPage) -> None:  # noqa: F811
    page = visit.open("/targets")
    expect(page.get_by_text("No target has unfinished tasks.")).to_be_visible()
    check_page(page, "targets-empty")
    for n in range(120):
        submit("note", {}, target=f"car-{n:03}")
    paused = submit("note", {}, target=MARKUP, tenant="<b>acme</b>")
    server.call("POST", f"/tasks/{paused}/pause")
    rows = page.get_by_role("table", name="Targets").locator("tbody tr")
    expect(rows).to_have_count(100)
    expect(rows.first).to_contain_text(f"{MARKUP}<b>acme</b>")  # the blocked ones come first
    button(page, "Show more").click()
    expect(rows).to_have_count(121)
    button(page, "blocked").click()
    expect(rows).to_have_count(1)
    button(page, MARKUP).click()
    expect(page.get_by_role("table", name=f"Tasks of {MARKUP}").locator("tbody tr")).to_have_count(1)
    expect(page.locator("main img, main b")).to_have_count(0)
    check_page(page, "targets-odd")
    act(page, "Clear", paused)
    expect(page.get_by_text("No blocked target.")).to_be_visible()
    button(page, "all").click()
    page.get_by_label("Filter targets").fill("CAR-01")
    expect(rows).to_have_count(10)
    page.reload()
    expect(page.get_by_label("Filter targets")).to_have_value("CAR-01")
    expect(rows).to_have_count(10)
    page.get_by_label("Filter targets").fill("boat")
    expect(page.get_by_text("No target has “boat” in its name.")).to_be_visible()


def test_a_task_links_to_its_target(visit: Visit, submit: Submit) -> None:  # noqa: F811
    task_id = submit("note", {}, target="printer")
    submit("note", {}, target="printer-2")
    page = visit.open(f"/tasks/{task_id}")
    page.get_by_role("link", name="printer", exact=True).click()
    expect(page.get_by_role("table", name="Tasks of printer").locator("tbody tr")).to_have_count(1)
    expect(button(page, "printer-2")).to_have_attribute("aria-expanded", "false")


def test_a_reader_only_looks(visit: Visit, server: ServerProcess, submit: Submit) -> None:  # noqa: F811
    server.call("POST", f"/tasks/{submit('note', {}, target='printer', tenant='acme')}/pause")
    server.call("POST", f"/tasks/{submit('note', {}, target='plotter', tenant='globex')}/pause")
    _, reader = create_key("joe", "reader", tenant="acme")
    page = open_with_key(visit, "/targets", reader)
    expect(target(page, "printer")).to_contain_text("paused")
    expect(button(page, "plotter")).to_have_count(0)
    button(page, "printer").click()
    expect(page.get_by_role("table", name="Tasks of printer")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^(Clear|Resume)"))).to_have_count(0)
