"""Going from one page of the console to another, while something is under way."""

import re

from playwright.sync_api import Page, Route, expect

from tests.console.browser import Visit
from tests.console.keys import enter_key, open_with_key
from tests.console.server import ServerProcess


def hold(page: Page, pattern: str) -> list[Route]:
    """Holds the next request back, and no other one; returns a list that has it then."""
    held: list[Route] = []
    page.route(pattern, lambda route: route.continue_() if held else held.append(route))
    return held


def show_frames(page: Page) -> None:
    """Returns when the page has shown what it knows."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def go(page: Page, name: str) -> None:
    page.locator("nav .entries").get_by_role("link", name=name, exact=True).click()


def test_a_form_leaves_the_address_of_the_next_page_alone(visit: Visit) -> None:
    page = visit.open("/submit")
    expect(page.get_by_label("What to run")).to_be_visible()
    expect(page).to_have_url(re.compile(r"#/submit\?work="))
    go(page, "Tasks")
    expect(page.get_by_role("heading", level=1, name="Tasks")).to_be_visible()
    assert page.url.endswith("#/tasks")


def test_a_dialog_ends_with_its_page(visit: Visit) -> None:
    page = visit.open("/keys")
    page.get_by_role("button", name="New key").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.evaluate("() => { location.hash = '#/workers' }")
    expect(page.get_by_role("heading", level=1, name="Workers")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_an_address_with_a_percent_sign_opens(visit: Visit) -> None:
    page = visit.open("/gates/tenant:100%")
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.locator("main")).to_contain_text("tenant:100%")


def test_the_last_page_that_was_wanted_is_shown(visit: Visit) -> None:
    held = hold(visit.page, "**/pages/workers.js")
    page = visit.open("/tasks")
    go(page, "Workers")
    go(page, "Keys")
    expect(page.get_by_role("heading", level=1, name="Keys")).to_be_visible()
    held[0].continue_()
    page.evaluate("() => import(document.querySelector('script[src]').src.replace('app.js', 'pages/workers.js'))")
    show_frames(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("Keys")
    expect(page).to_have_title(re.compile("^Keys"))


def test_an_action_that_ends_on_another_page_does_not_change_it(visit: Visit, server: ServerProcess) -> None:
    steps = [{"key": "publish", "kind": "approval", "after": []}]
    workflow_id = server.call("POST", "/workflows", {"name": "Autumn", "steps": steps})["workflow_id"]
    page = visit.open(f"/workflows/{workflow_id}")
    held = hold(page, "**/cancel")
    page.get_by_role("button", name="Cancel workflow").click()
    with page.expect_request("**/cancel"):
        page.get_by_role("dialog").get_by_role("button", name="Cancel workflow").click()
    go(page, "Tasks")
    expect(page.get_by_role("heading", level=1, name="Tasks")).to_be_visible()
    held[0].continue_()
    expect(page.locator("#toasts")).to_contain_text("Autumn is canceled")
    show_frames(page)
    expect(page).to_have_title(re.compile("^Tasks"))


def test_a_late_answer_to_the_key_before_asks_for_no_other_one(visit: Visit, server: ServerProcess) -> None:
    key = server.call("POST", "/keys", {"name": "anna", "role": "operator"})["key"]
    other = server.call("POST", "/keys", {"name": "bert", "role": "operator"}, key)["key"]
    page = open_with_key(visit, "/tasks", key)
    expect(page.locator("nav .who")).to_contain_text("anna")
    held = hold(page, "**/queues/status")
    with page.expect_request("**/queues/status"):
        pass
    page.get_by_role("button", name="Use another key").click()
    enter_key(page, other)
    expect(page.locator("nav .who")).to_contain_text("bert")
    with page.expect_response("**/queues/status"):
        held[0].fulfill(status=401, json={"error": "unauthorized"})
    show_frames(page)
    expect(page.get_by_label("API key")).to_have_count(0)
