"""The list of tasks: the filter with its suggestions, the live rows, and the keyboard."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from state import cancel
from tests.console.browser import Visit
from tests.console.keys import button
from tests.support.builders import TaskBuilder

CheckPage = Callable[[Page, str], None]
SUMMARY = {"content": "A lighthouse stands at the coast. Ships see its light. " * 4}
STATUSES = ("scheduled", "queued", "waiting", "running", "paused", "completed", "canceled", "dead")
MARKUP = "<img src=x onerror=alert(1)>"


@pytest.fixture
def board(make_task: TaskBuilder) -> TaskBuilder:
    """A bit of everything."""
    for n, status in enumerate(("completed", "canceled", "scheduled", "queued", "running", "paused", "waiting")):
        make_task(status, actor="summarize", payload=SUMMARY, target=f"depot/{n}")  # type: ignore[arg-type]
    media = {"provider": "local", "prompt": "a lighthouse at dusk"}
    make_task("dead", actor="media_generation", payload=media, error_type="InvalidInput", tenant="acme")
    agent = {"agent_name": "text", "task_type": "statistics", "input": {"text": "One. Two."}}
    make_task("completed", actor="agent", payload=agent, tenant="acme")
    make_task("queued", actor="agent", payload=agent, tenant="globex")
    return make_task


def rows(page: Page) -> Locator:
    return page.locator("tr.task")


def search(page: Page) -> Locator:
    return page.get_by_label("Filter tasks")


def filter_by(page: Page, text: str) -> None:
    search(page).fill(text)
    search(page).press("Enter")


def test_the_page(board: TaskBuilder, visit: Visit, check_page: CheckPage) -> None:
    page = visit.open("/tasks")
    expect(rows(page)).to_have_count(11)
    check_page(page, "tasks")
    filter_by(page, "status:gone actor:summarize foo:bar")
    expect(page.get_by_role("alert")).to_be_visible()
    check_page(page, "tasks-wrong-filter")
    search(page).fill("actor:summarize st")
    expect(page.get_by_role("option")).not_to_have_count(0)
    check_page(page, "tasks-suggestions")


def test_no_tasks(visit: Visit, check_page: CheckPage) -> None:
    page = visit.open("/tasks")
    expect(page.get_by_role("link", name="Submit the first")).to_be_visible()
    check_page(page, "tasks-empty")


def test_the_filter_understands_qualifiers_and_words(board: TaskBuilder, visit: Visit) -> None:
    odd = board(
        "queued", actor="summarize", payload={"content": f"{MARKUP} at sea"}, tenant="north wind", target=MARKUP
    )
    page = visit.open("/tasks")
    expect(rows(page)).to_have_count(12)
    for text, count in (
        ("status:dead actor:media_generation tenant:acme dusk", 1),
        ("status:dead actor:media_generation tenant:acme dawn", 0),
        ("actor:summarize lighthouse", 7),
        ("error_type:InvalidInput", 1),
        ("agent_name:text tenant:globex", 1),
        ('tenant:"north wind"', 1),
        (f'"{MARKUP}" sea', 1),
        ("target:depot/3", 1),
    ):
        filter_by(page, text)
        expect(rows(page)).to_have_count(count)
    expect(page).to_have_url(re.compile("depot"))
    expect(rows(page)).to_contain_text("depot/3")
    page.reload()  # the address has the filter
    expect(search(page)).to_have_value("target:depot/3")
    expect(rows(page)).to_have_count(1)
    filter_by(page, f'"{MARKUP}"')
    expect(rows(page)).to_contain_text(MARKUP)
    assert page.locator("main img").count() == 0
    filter_by(page, odd.task_id)
    expect(page.locator("task-page .crumbs")).to_contain_text(odd.task_id)
    page = visit.open("/tasks?q=actor:summarize")
    page.get_by_role("navigation", name="Statuses").get_by_role("link", name="paused").click()
    expect(search(page)).to_have_value("status:paused actor:summarize")
    expect(rows(page)).to_have_count(1)


def test_the_filter_suggests_qualifiers_and_values(board: TaskBuilder, visit: Visit) -> None:
    page = visit.open("/tasks")
    expect(rows(page)).to_have_count(11)
    options = page.get_by_role("option")
    page.keyboard.press("/")
    expect(search(page)).to_be_focused()
    page.keyboard.type("st")
    expect(options.first).to_contain_text("status:")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(search(page)).to_have_value("status:")
    expect(options).to_have_text([f"status:{name}" for name in STATUSES])
    page.keyboard.type("de")
    expect(options).to_have_text(["status:dead"])
    options.click()
    expect(search(page)).to_have_value("status:dead ")
    page.keyboard.type("actor:med")
    expect(options).to_have_text(["actor:media_generation"])  # what the server declares
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.type("tenant:ac")
    expect(options).to_have_text(["tenant:acme"])  # what was seen in tasks
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text("InvalidInput")


def test_the_list_is_live_until_it_is_paused(board: TaskBuilder, visit: Visit) -> None:
    page = visit.open("/tasks?q=tenant:live")
    expect(page.get_by_text("No task matches.")).to_be_visible()
    first = board(actor="summarize", payload=SUMMARY, tenant="live")
    row = page.locator(f'tr[data-id="{first.task_id}"]')
    expect(row).to_contain_text("queued")
    cancel(first.task_id)
    expect(row).to_contain_text("canceled")
    button(page, "Pause").click()
    board(actor="summarize", payload=SUMMARY, tenant="live")
    held = button(page, "1 new task")
    expect(held).to_be_visible()
    expect(rows(page)).to_have_count(1)
    held.click()
    expect(rows(page)).to_have_count(2)
    board(actor="summarize", payload=SUMMARY, tenant="live")
    expect(held).to_be_visible()
    button(page, "Paused: go on").click()
    expect(rows(page)).to_have_count(3)
    expect(held).to_have_count(0)


def test_the_list_is_walked_through_by_keys(board: TaskBuilder, visit: Visit, check_page: CheckPage) -> None:
    page = visit.open("/tasks")
    expect(rows(page)).to_have_count(11)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("Select the row")
    check_page(page, "keyboard-help")
    page.keyboard.press("j")  # of the dialog
    page.keyboard.press("Escape")
    expect(page.locator("tr.current")).to_have_count(0)
    for key, at in (("j", 0), ("j", 1), ("j", 2), ("k", 1), ("k", 0), ("k", 0), ("j", 1)):
        page.keyboard.press(key)
        expect(rows(page).nth(at)).to_have_class(re.compile("current"))
        expect(rows(page).nth(at).get_by_role("link")).to_be_focused()
    opened = rows(page).nth(1).get_attribute("data-id") or ""
    page.keyboard.press("Enter")
    expect(page.locator("task-page .crumbs")).to_contain_text(opened)
    page.keyboard.press("/")
    page.keyboard.type("jk?x")  # somebody who types writes letters
    expect(search(page)).to_have_value("jk?x")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(search(page)).not_to_be_focused()


def test_back_leads_to_where_the_list_was_left(board: TaskBuilder, visit: Visit) -> None:
    page = visit.open("/tasks")
    expect(rows(page)).to_have_count(11)
    page.set_viewport_size({"width": 1440, "height": 400})
    for _ in range(9):
        page.keyboard.press("j")
    row = rows(page).nth(8)
    expect(row.get_by_role("link")).to_be_focused()
    top = page.evaluate("scrollY")
    assert top > 0
    page.keyboard.press("Enter")
    expect(page.locator("task-page .crumbs")).to_be_visible()
    page.go_back()
    expect(row.get_by_role("link")).to_be_focused()
    assert page.evaluate("scrollY") == top
    page.go_forward()
    expect(page.locator("task-page .crumbs")).to_be_visible()
    page.get_by_label("Pages").get_by_role("link", name="Tasks").click()  # another visit begins at the top
    expect(rows(page)).to_have_count(11)
    expect(page.locator("tr.current")).to_have_count(0)
    assert page.evaluate("scrollY") == 0
