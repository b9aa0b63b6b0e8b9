"""What holds on all pages: what the policy allows, keys, themes, outages, and paths below which it is served."""

from collections.abc import Callable

import httpx2
import pytest
from playwright.sync_api import Page, expect

from state.access.keys import create_key
from tests.console.browser import PHONE, Visit
from tests.console.keys import button, enter_key
from tests.console.proxy import serve_below
from tests.console.server import ServerProcess
from tests.console.test_tasks import SUMMARY, rows
from tests.support.postgres import TestPostgres
from tests.support.workers import WorkerTree

CheckPage = Callable[[Page, str], None]
Start = Callable[..., WorkerTree]
BREACHES = {
    "a script": "const it = document.createElement('script'); it.text = 'broken = true'; document.body.append(it)",
    "a listener": "document.body.setAttribute('onclick', 'broken = true'); document.body.click()",
    "markup": "document.body.innerHTML = '<img src=x onerror=\"broken = true\">'",
    "code": "setTimeout('broken = true')",
    "a style": "document.body.setAttribute('style', 'display: none')",
}


def test_an_address_that_is_none(visit: Visit) -> None:
    page = visit.open("/nowhere")
    expect(page.get_by_role("alert")).to_contain_text("There is no such page.")


def test_the_policy(server: ServerProcess) -> None:
    policy = httpx2.get(server.url, trust_env=False).headers["Content-Security-Policy"]
    rules = {name: values for name, *values in (rule.split() for rule in policy.split(";"))}
    assert rules["default-src"] == ["'none'"]
    for name in ("script-src", "style-src", "connect-src"):
        assert rules[name] == ["'self'"]
    assert rules["require-trusted-types-for"] == ["'script'"]
    assert "unsafe" not in policy


@pytest.mark.parametrize("breach", list(BREACHES))
def test_nothing_foreign_runs(visit: Visit, breach: str) -> None:
    page = visit.open()
    page.evaluate("""() => { window.violations = []
        document.addEventListener("securitypolicyviolation", (event) => violations.push(event.effectiveDirective)) }""")
    page.evaluate(f"() => {{ try {{ {BREACHES[breach]} }} catch {{ }} }}")
    page.wait_for_function("violations.length > 0")
    assert page.evaluate("window.broken") is None
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert visit.errors != []  # the browser has said so
    visit.errors.clear()


def test_the_server_asks_for_a_key(visit: Visit, check_page: CheckPage) -> None:
    page = visit.open("/tasks")
    _, secret = create_key("joe", "reader", tenant="acme")
    expect(page.get_by_label("API key")).to_be_focused()  # the page asks as soon as the server does
    check_page(page, "key-prompt")
    enter_key(page, "cb_wrong")
    expect(page.get_by_role("alert")).to_contain_text("does not know this key")
    page.get_by_label("Remember").check()
    enter_key(page, secret)
    expect(page.locator("nav .who")).to_contain_text("joe · reader · tenant acme")
    expect(page.get_by_text("No tasks yet.")).to_be_visible()
    with page.context.new_page() as other:  # of the same browser
        other.goto(visit.url)
        expect(other.locator("nav .who")).to_contain_text("joe")
    button(page, "Use another key").click()
    expect(page.get_by_label("API key")).to_be_visible()
    assert secret not in page.evaluate("JSON.stringify([localStorage, sessionStorage])")


def test_themes_times_and_focus(visit: Visit, server: ServerProcess) -> None:
    task_id = server.call("POST", "/tasks", {"actor": "summarize", "payload": SUMMARY})["task_id"]
    page = visit.page
    page.emulate_media(color_scheme="dark")
    visit.open("/tasks")
    theme = page.locator("html")
    expect(theme).to_have_attribute("data-theme", "dark")
    button(page, "Light").click()
    expect(theme).to_have_attribute("data-theme", "light")
    page.reload()
    expect(theme).to_have_attribute("data-theme", "light")
    moment = page.locator(f'tr[data-id="{task_id}"] .age time')
    exact = server.call("GET", f"/tasks/{task_id}")["created_at"]
    expect(moment).to_have_attribute("datetime", exact)
    assert exact[:4] in (moment.get_attribute("title") or "")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    expect(page.get_by_role("link", name="Workflows")).to_be_hidden()
    button(page, "Menu").click()
    page.get_by_role("link", name="Workflows").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Workflows")
    expect(page.get_by_role("link", name="Gates")).to_be_hidden()


_ANIMATIONS = """() => {
    const [bar, meter, value] = ["div", "div", "i"].map((tag) => document.createElement(tag));
    [bar.className, meter.className] = ["progress unknown", "meter"];
    bar.append(meter);
    meter.append(value);
    document.querySelector("main").append(bar);
    const found = bar.getAnimations({ subtree: true }).length;
    bar.remove();
    return found;
}"""


def test_nothing_moves_with_reduced_motion(visit: Visit) -> None:
    page = visit.open("/tasks")
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate(_ANIMATIONS) == 1
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate(_ANIMATIONS) == 0


def test_it_survives_restarts_without_a_reload(visit: Visit, server: ServerProcess, postgres: TestPostgres) -> None:
    def submit() -> None:
        server.call("POST", "/tasks", {"actor": "summarize", "payload": SUMMARY})

    page = visit.open("/tasks")
    page.evaluate("window.isTheSame = true")
    submit()
    expect(rows(page)).to_have_count(1)
    postgres.stop()
    expect(page.get_by_role("alert")).to_be_visible()  # the server says what is wrong
    expect(rows(page)).to_have_count(1)  # and the page keeps what it knows
    postgres.start_again()
    submit()
    expect(rows(page)).to_have_count(2)
    expect(page.get_by_role("alert")).to_have_count(0)
    server.kill()
    expect(page.get_by_text("The server cannot be reached")).to_be_visible()
    page.get_by_role("link", name="Gates").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Gates")
    server.start()
    expect(page.get_by_text("No gates yet.")).to_be_visible()
    expect(page.locator(".live")).to_have_text("Live")
    assert page.evaluate("window.isTheSame")


def test_it_is_served_below_a_path(visit: Visit, server: ServerProcess, start: Start) -> None:
    start()
    with serve_below("/tools/callboard/", server.port) as url:
        visit.url, visit.origin = url, url.rstrip("/")  # what leaves the path fails the test, too
        page = visit.open("/submit?work=media_generation")
        page.get_by_label("Prompt", exact=True).fill("a lighthouse")
        page.get_by_label("Step seconds").fill("0.01")
        button(page, "Submit").click()
        task = page.locator("live-task")
        expect(task.locator("img")).to_have_js_property("naturalWidth", 512)  # the stream and the picture
        task.get_by_role("link", name="Open the task").click()
        expect(page.locator(".head .chip")).to_have_text("completed")
        page.reload()
        expect(page.locator("task-page img").first).to_be_visible()
        page.get_by_role("link", name="Workers").click()
        expect(page.locator(".worker-card")).to_have_count(1)
        page.goto("about:blank")  # ends its streams
