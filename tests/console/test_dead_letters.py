"""Dead letters: the groups, what is in them, and how they are redriven and dismissed."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from state import get_task
from state.access.keys import create_key
from tests.console.browser import Visit
from tests.console.keys import button, open_with_key
from tests.console.server import ServerProcess
from tests.support.builders import TaskBuilder
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.support.workers import WorkerTree

CheckPage = Callable[[Page, str], None]
Kill = Callable[..., str]
MARKUP = "<img src=x onerror=alert(1)>"
TIMEOUT = "The provider has not answered within {} s."


@pytest.fixture
def kill(make_task: TaskBuilder, connection: Observer) -> Kill:
    """Makes a dead letter with this error, some hours ago, and returns its id."""

    def kill(error_type: str, message: str, actor: str = "summarize", hours: int = 0, **options: Any) -> str:
        task_id = make_task("dead", actor=actor, **{"payload": {"content": "One. Two."}, **options}).task_id
        error: dict[str, Any] = {
            "type": error_type,
            "message": message,
            "category": "permanent",
            "details": {},
            "traceback": None,
        }
        connection.execute(
            "UPDATE callboard.tasks SET error = %s, finished_at = finished_at - make_interval(hours => %s) "
            "WHERE id = %s",
            [json.dumps(error), hours, task_id],
        )
        return task_id

    return kill


def groups(page: Page) -> Locator:
    return page.locator("error-group")


def open_group(page: Page, text: str) -> Locator:
    group = groups(page).filter(has_text=text)
    group.locator("> header button").click()
    expect(group.locator("dead-letter")).not_to_have_count(0)
    return group


def act(page: Page, group: Locator, what: str, confirm: str) -> None:
    """Begins an action, confirms it after the preview, and closes the receipt."""
    button(group, f"{what}…").click()
    dialog = page.get_by_role("dialog", name=f"{what} tasks")
    button(dialog, confirm).click()
    expect(dialog.get_by_role("table", name="What it did")).to_be_visible()
    button(dialog, "Close").click()


def test_a_group_is_redriven_and_completes(
    visit: Visit, server: ServerProcess, start: Callable[..., WorkerTree], check_page: CheckPage
) -> None:
    start()
    page = visit.open("/dead-letters")
    expect(page.get_by_text("Nothing is dead.")).to_be_visible()
    check_page(page, "dead-letters-empty")
    prompts = [f"lighthouse-{n}" for n in range(3)]
    params = {"steps": 1, "width": 64, "height": 64}
    lost = [
        server.call("POST", "/tasks", {"actor": "media_generation", "payload": {"prompt_id": each, "params": params}})
        for each in prompts
    ]
    group = groups(page).filter(has_text="There is no prompt")
    expect(group.locator("> header .count b")).to_have_text("3")  # without a reload
    expect(groups(page)).to_have_count(1)
    group = open_group(page, "There is no prompt")
    expect(group.locator("dead-letter")).to_have_count(3)
    expect(group.locator("dead-letter").first).to_contain_text("lighthouse-2")
    expect(group.locator("dead-letter").first).to_contain_text("1 of ")
    button(group, "Redrive…").click()
    dialog = page.get_by_role("dialog", name="Redrive tasks")
    expect(dialog).to_contain_text("Redrive changes 3 tasks")
    expect(dialog.get_by_role("table", name="What it will do")).to_contain_text("media_generation")
    check_page(page, "dead-letters-redrive")
    assert {get_task(task["task_id"]).status for task in lost} == {"dead"}
    for each in prompts:
        server.call("PUT", f"/prompts/{each}", {"text": "a lighthouse at dusk"})
    button(dialog, "Redrive 3 tasks").click()
    expect(dialog).to_contain_text("3 tasks queued again.")
    button(dialog, "Close").click()
    expect(page.get_by_text("Nothing is dead.")).to_be_visible()
    eventually(lambda: {get_task(task["task_id"]).status for task in lost} == {"completed"}, 30, what="completed")


def test_groups_and_their_tasks(visit: Visit, kill: Kill, check_page: CheckPage) -> None:
    agent = {"agent_name": "text", "task_type": "statistics", "input": {"text": MARKUP}}
    for n in range(4):
        kill("NetworkTimeout", TIMEOUT.format(n), hours=4 - n, tenant="acme" if n else None)
    kill("NetworkTimeout", TIMEOUT.format(30), actor="agent", payload=agent, tenant="acme")
    kill("InvalidInput", f"{MARKUP} is no city\nsecond line", actor="agent", payload=agent, tenant="globex")
    large = kill("ContextTooLong", "The text has 70,000 tokens.", payload={"content": "word " * 20_000})
    page = visit.open("/dead-letters")
    expect(groups(page)).to_have_count(3)
    timeouts = groups(page).filter(has_text="NetworkTimeout")
    expect(timeouts).to_contain_text("summarize and 1 more")
    expect(timeouts.locator("> header .count b")).to_have_text("5")
    expect(timeouts.get_by_role("img")).to_have_attribute("aria-label", "Deaths in each of the last 24 hours: "
                                                          + ", ".join(["0"] * 19 + ["1"] * 5))  # fmt: skip
    expect(page.locator(".head")).to_contain_text("7 in 3 groups")
    check_page(page, "dead-letters")
    timeouts = open_group(page, "NetworkTimeout")
    expect(timeouts.locator(".group-acts code")).to_have_text("The provider has not answered within <n> s.")
    letters = timeouts.locator("dead-letter")
    expect(letters).to_have_count(5)
    expect(letters.first).to_contain_text("text · statistics")
    expect(letters.first).to_contain_text("acme · 1 of ")
    expect(letters.first).to_contain_text("within 30 s")
    letters.first.get_by_text("Payload").click()
    expect(letters.first.locator(".json")).to_contain_text(MARKUP)
    check_page(page, "dead-letters-open")
    page.reload()  # the address has the open group
    expect(letters).to_have_count(5)
    markup = open_group(page, "is no city")
    expect(letters).to_have_count(0)  # one at a time
    expect(markup).to_contain_text(MARKUP)
    assert page.locator("main img").count() == 0
    long = open_group(page, "ContextTooLong")
    long.get_by_text("Payload").click()
    expect(long.locator(".json")).to_contain_text("word word")  # what the list left out
    long.get_by_role("link", name="summarize").click()
    expect(page.locator("task-page .crumbs")).to_contain_text(large)


def test_filters(visit: Visit, kill: Kill) -> None:
    kill("NetworkTimeout", TIMEOUT.format(1), tenant="acme")
    kill("NetworkTimeout", TIMEOUT.format(2), actor="media_generation", payload={"prompt": "x"})
    kill("InvalidInput", "Nowhere is no city", tenant="acme")
    page = visit.open("/dead-letters?actor=media_generation&error_type=NetworkTimeout")
    field = page.get_by_role("search", name="Filter dead letters").get_by_label
    expect(groups(page)).to_have_count(1)
    expect(groups(page).locator("> header .count b")).to_have_text("1")
    expect(field("Actor")).to_have_value("media_generation")
    expect(field("Error type")).to_have_value("NetworkTimeout")
    expect(open_group(page, "NetworkTimeout").locator("dead-letter")).to_have_count(1)
    field("Actor").select_option("all actors")
    expect(groups(page).locator("> header .count b")).to_have_text("2")
    field("Error type").select_option("all error types")
    expect(groups(page)).to_have_count(2)
    field("Tenant").fill("acme")
    field("Tenant").press("Enter")
    expect(groups(page).locator("> header .count b")).to_have_text(["1", "1"])
    field("Words of the error").fill("nowhere CITY")
    expect(groups(page)).to_have_count(1)
    expect(groups(page)).to_contain_text("InvalidInput")
    page.reload()
    expect(field("Words of the error")).to_have_value("nowhere CITY")
    expect(groups(page)).to_have_count(1)
    field("Words of the error").fill("submarine")
    button(page, "Show all dead letters").click()
    expect(groups(page)).to_have_count(2)
    page.evaluate("() => { location.hash = '#/dead-letters?error_type=InvalidInput' }")  # as a link of another page
    expect(groups(page)).to_have_count(1)


def test_a_part_of_a_group_is_dismissed(visit: Visit, kill: Kill) -> None:
    ours = [kill("InvalidInput", f"{n} is no city", tenant="acme") for n in range(2)]
    other = kill("InvalidInput", "7 is no city", tenant="globex")
    page = visit.open("/dead-letters?tenant=acme")
    group = open_group(page, "InvalidInput")
    act(page, group, "Dismiss", "Dismiss 2 tasks")
    expect(page.get_by_text("No dead letter matches.")).to_be_visible()
    assert [get_task(each).status for each in (*ours, other)] == ["canceled", "canceled", "dead"]


def test_what_is_skipped_is_said(visit: Visit, kill: Kill, make_task: TaskBuilder) -> None:
    held = kill("InvalidInput", "1 is no city", dedup_key="k")
    make_task("queued", actor="summarize", payload={"content": "One."}, dedup_key="k")
    free = kill("InvalidInput", "2 is no city")
    page = visit.open("/dead-letters")
    group = open_group(page, "InvalidInput")
    button(group, "Redrive…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("table", name="What stays as it is")).to_contain_text("dedup key taken")
    button(dialog, "Redrive 1 task").click()
    expect(dialog).to_contain_text("1 task queued again.")
    button(dialog, "Close").click()
    expect(group.locator("> header .count b")).to_have_text("1")
    assert [get_task(each).status for each in (held, free)] == ["dead", "queued"]


def test_keys(visit: Visit, kill: Kill) -> None:
    kill("InvalidInput", "1 is no city")
    last = kill("NetworkTimeout", TIMEOUT.format(1))
    page = visit.open("/dead-letters")
    expect(groups(page)).to_have_count(2)
    heads = groups(page).locator("> header button")
    for key, at in (("j", 0), ("j", 1), ("j", 1), ("k", 0)):
        page.keyboard.press(key)
        expect(heads.nth(at)).to_be_focused()
    page.keyboard.press("Enter")
    expect(heads.first).to_have_attribute("aria-expanded", "true")
    task = page.locator("dead-letter").get_by_role("link")
    expect(task).to_be_visible()
    page.keyboard.press("j")
    expect(task).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("task-page .crumbs")).to_contain_text(last)


def test_a_reader_is_offered_nothing_that_is_refused(visit: Visit, kill: Kill) -> None:
    kill("InvalidInput", "1 is no city", tenant="acme")
    kill("InvalidInput", "2 is no city", tenant="globex")
    _, key = create_key("look", "reader", tenant="acme")
    page = open_with_key(visit, "/dead-letters", key)
    group = open_group(page, "InvalidInput")
    expect(group.locator("dead-letter")).to_have_count(1)
    expect(group.get_by_role("button")).to_have_count(1)  # that closes it
    expect(page.get_by_label("Tenant")).to_have_count(0)
