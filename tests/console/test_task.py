"""A task's page while the task lives: its output as it comes, why it waits, its life and its history."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from state.tasks.ids import new_task_id
from tests.console.browser import PHONE, Visit
from tests.console.server import ServerProcess
from tests.console.task_fixtures import (  # noqa: F401
    Start,
    Submit,
    _running_chat,
    chat_server,
    server,
    submit,
)
from tests.providers.servers import ChatServer
from tests.support.eventually import eventually
from tests.support.postgres import TestPostgres

CheckPage = Callable[[Page, str], None]
SEA = "The sea is wide, and nobody who has stood at its edge on a cold morning will say that a lighthouse is too much."


def expect_status(page: Page, status: str) -> None:
    expect(page.locator(".head .chip")).to_have_text(status)


def test_a_picture_appears(visit: Visit, worker: Start, submit: Submit, check_page: CheckPage) -> None:  # noqa: F811
    params = {"steps": 3, "step_seconds": 0, "width": 256, "height": 256}
    task_id = submit("media_generation", {"prompt": "a <b>red</b> lighthouse", "params": params})
    page = visit.open(f"/tasks/{task_id}")
    expect_status(page, "queued")
    worker()
    picture = page.get_by_role("img", name="a <b>red</b> lighthouse")
    expect(picture).to_have_js_property("naturalWidth", 256)
    expect_status(page, "completed")
    expect(page.locator(".attempt-bars li")).to_have_count(1)
    expect(page.get_by_role("img", name="Now completed.")).to_be_visible()
    check_page(page, "task-media")
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    states = page.locator(".flow rect")  # drawn again, in two columns
    page.wait_for_function("() => document.querySelector('.flow svg').viewBox.baseVal.width < 400")
    expect(states).to_have_count(8)
    for box in (each.bounding_box() for each in states.all()):
        assert box
        assert 0 <= box["x"] < box["x"] + box["width"] <= PHONE["width"]


def test_tokens_come_live_and_survive_restarts(
    chat_server: ChatServer,  # noqa: F811  (first: the server finds it in the environment)
    visit: Visit,
    worker: Start,
    submit: Submit,  # noqa: F811
    server: ServerProcess,  # noqa: F811
    postgres: TestPostgres,
    check_page: CheckPage,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENROUTER_TIMEOUT", "300")  # the test holds the answer for longer than usual
    chat_server.holds = True
    chat_server.faults.retry_after = "0"
    chat_server.faults.add("chat", 429)
    worker()
    task_id = submit("summarize", {"content": SEA})
    page = visit.open(f"/tasks/{task_id}")
    text = page.locator(".output .text")
    expect(text).to_have_text("In short:")
    expect(page.locator(".attempt-bars li")).to_have_count(2)
    expect(page.locator(".attempt-bars .failed")).to_contain_text("RateLimited")
    expect(page.locator(".attempts .error")).to_contain_text("RateLimited")
    check_page(page, "task-live")

    page.reload()
    expect(text).to_have_text("In short:")
    server.kill()
    expect(page.get_by_text("The server cannot be reached")).to_be_visible()
    postgres.restart()
    server.start()
    chat_server.holds = False
    expect_status(page, "completed")
    expect(text).to_have_text(f"In short: {' '.join(SEA.split()[:20])}")
    expect(page.get_by_text("The server cannot be reached")).to_have_count(0)
    expect(page.locator(".about")).to_contain_text("121 tokens · $0.00042")

    kinds = page.get_by_role("group", name="Kinds of events")
    kinds.get_by_role("button", name="token").click()
    expect(page.locator(".history .timeline > li")).to_have_count(1)
    expect(page.locator(".history .timeline")).to_contain_text("21 tokens")
    page.reload()
    expect(kinds.get_by_role("button", name="token")).to_have_attribute("aria-pressed", "true")
    kinds.get_by_role("button", name="status").click()
    expect(page.locator(".history .timeline > li").first).to_contain_text("completed")
    expect(page.locator(".history .timeline > li").last).to_contain_text("submitted")


def test_a_hidden_tab_goes_on_when_it_is_shown(
    chat_server: ChatServer,  # noqa: F811
    visit: Visit,
    worker: Start,
    submit: Submit,  # noqa: F811
    server: ServerProcess,  # noqa: F811
) -> None:
    chat_server.holds = True
    worker()
    task_id = submit("summarize", {"content": SEA})
    page = visit.open(f"/tasks/{task_id}")
    expect(page.locator(".output .text")).to_have_text("In short:")
    hide = """hidden => {
        Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
    }"""
    page.evaluate(hide, True)
    chat_server.holds = False
    eventually(lambda: server.call("GET", f"/tasks/{task_id}")["status"] == "completed")
    expect_status(page, "running")
    page.evaluate(hide, False)
    expect_status(page, "completed")
    expect(page.locator(".output .text")).to_contain_text("on a cold morning")


def test_why_it_waits(
    visit: Visit,
    worker: Start,
    submit: Submit,  # noqa: F811
    server: ServerProcess,  # noqa: F811
) -> None:
    worker()
    server.call("PUT", "/gates/provider:local", {"max_concurrent": 1})
    slow = submit("media_generation", {"prompt": "slow", "params": {"steps": 1, "step_seconds": 60}})
    eventually(lambda: server.call("GET", f"/tasks/{slow}")["status"] == "running")
    waits = submit("media_generation", {"prompt": "quick", "params": {"steps": 1, "step_seconds": 0, "width": 64}})
    page = visit.open(f"/tasks/{waits}")
    notice = page.locator("task-page .notice")
    expect(notice).to_contain_text("provider:local: 1 of 1 running, place 1 in the line")
    expect(page.get_by_role("link", name="provider:local").first).to_have_attribute("href", "#/gates/provider%3Alocal")
    expect(page.locator(".attempt-bars .now")).to_be_visible()
    expect(notice.get_by_title(slow)).to_be_visible()  # who holds the gate
    server.call("POST", f"/tasks/{slow}/cancel")
    expect_status(page, "completed")
    expect(notice).to_have_count(0)
    expect(page.locator(".attempt-bars .bar")).to_have_attribute(
        "aria-label", re.compile("waiting .* at provider:local")
    )


def test_every_status_without_a_worker(visit: Visit, submit: Submit, server: ServerProcess) -> None:  # noqa: F811
    scheduled, paused, canceled = (submit("note", {}, delay_seconds=3600 * hours) for hours in (1, 0, 0))
    server.call("POST", f"/tasks/{paused}/pause")
    page = visit.open(f"/tasks/{scheduled}")
    expect(page.locator("task-page .notice")).to_contain_text("It is due in 59 min")
    page = visit.open(f"/tasks/{paused}")
    expect(page.locator("task-page .notice")).to_contain_text("Paused")
    expect_actions(page, ["Resume", "Cancel", "Copy as curl", "Copy as Python"])
    page.get_by_role("button", name="Resume").click()
    expect_status(page, "queued")
    expect(page.locator("task-page .notice")).to_contain_text("Ready")
    page.get_by_role("button", name="Pause", exact=True).click()
    expect_status(page, "paused")
    page = visit.open(f"/tasks/{canceled}")
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel the task").click()
    expect_status(page, "canceled")
    expect_actions(page, ["Remove", "Copy as curl", "Copy as Python"])
    server.call("DELETE", f"/tasks/{canceled}")
    expect(page.locator("task-page .notice")).to_contain_text("Removed")
    expect_actions(page, [])
    page = visit.open(f"/tasks/{new_task_id()}")
    expect(page.get_by_text("There is no such task.")).to_be_visible()


def expect_actions(page: Page, names: list[str]) -> None:
    expect(page.locator(".head .acts button")).to_have_text(names)


def test_links_to_what_it_belongs_to(visit: Visit, server: ServerProcess) -> None:  # noqa: F811
    statistics = {"agent_name": "text", "task_type": "statistics", "input": {"text": "One. Two."}}
    item = {"title": "cover", **statistics}
    project = server.call("POST", "/projects", {"name": "Spring", "items": [item]})["project_id"]
    run = server.call("POST", f"/projects/{project}/run", {"mode": "single"})["run_id"]
    page = visit.open(f"/tasks/{run}")
    page.get_by_role("link", name=project).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Spring")
    steps = [{"key": "count", **statistics}]
    workflow = server.call("POST", "/workflows", {"name": "Catalog", "steps": steps})["workflow_id"]
    [task] = server.call("GET", f"/tasks?workflow_id={workflow}")["items"]
    page = visit.open(f"/tasks/{task['task_id']}")
    page.get_by_role("link", name=workflow).click()
    expect(page.locator("step-details h2")).to_contain_text("count")
