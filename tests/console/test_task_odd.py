"""A task's page with what nobody expects: thousands of events, long and strange texts, many attempts, two tabs."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from state.database import connect
from tests.console.browser import Visit
from tests.console.server import ServerProcess
from tests.console.task_fixtures import Submit, server, submit  # noqa: F401
from tests.console.test_task import expect_status
from tests.taskapi.fake_worker import WORKER_ID, FakeWorker

ODD = "<script>alert(1)</script> " + "\N{PERFORMING ARTS}" * 5000


@pytest.fixture
def fake_worker(database_url: str) -> Iterator[FakeWorker]:
    with connect(WORKER_ID) as connection:
        yield FakeWorker(connection)


def test_thousands_of_events(visit: Visit, submit: Submit, fake_worker: FakeWorker) -> None:  # noqa: F811
    task_id = submit("note", {"text": "long"})
    task = fake_worker.start("test")
    fake_worker.emit(task, *(f"word{number} " for number in range(2500)))
    page = visit.open(f"/tasks/{task_id}")
    text = page.locator(".output .text")
    lines = page.locator(".history .timeline > li")
    expect(text).to_contain_text("word2499")
    expect(text).to_contain_text("word0 ")
    expect(lines.first).to_contain_text("2,500 tokens")
    expect(lines).to_have_count(3)
    page.locator(".kinds button", has_text="status").click()
    expect(lines).to_have_count(2)
    fake_worker.emit(task, ODD)
    expect(text).to_contain_text(ODD)
    fake_worker.complete(task)
    expect_status(page, "completed")
    expect(lines).to_have_count(3)


def test_strange_events(visit: Visit, submit: Submit, fake_worker: FakeWorker) -> None:  # noqa: F811
    task_id = submit("note", {ODD: {ODD: [ODD]}, "file": "\u202egnp.exe"}, tenant="<b>acme</b>", target=ODD[:200])
    task = fake_worker.start("test")
    page = visit.open(f"/tasks/{task_id}")
    expect_status(page, "running")
    for kind in ("part", "tool", "log", "constructor", ODD[:100]):
        fake_worker.emit(task, ODD, kind=kind)
    expect(page.locator(".payload .json")).to_contain_text(r'file: "\u202egnp.exe"')  # it turns nothing around
    lines = page.locator(".history .timeline > li")
    expect(lines).to_have_count(7)
    lines.first.get_by_role("button").click()
    expect(lines.first.locator(".json")).to_contain_text("text")
    page.locator(".kinds button", has_text=ODD[:100]).click()
    expect(lines).to_have_count(1)
    fake_worker.fail(task, ODD)
    expect_status(page, "dead")
    expect(page.locator("task-page .problem")).to_contain_text("<script>")
    assert_fits(page)


def assert_fits(page: Page) -> None:
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        wider = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(wider) <= 0
    assert page.locator("main script").count() == 0


def test_many_attempts_and_two_tabs(
    visit: Visit,
    submit: Submit,  # noqa: F811
    server: ServerProcess,  # noqa: F811
    fake_worker: FakeWorker,
) -> None:
    task_id = submit("note", {})
    for _ in range(14):
        fake_worker.fail(fake_worker.start("test"))
        server.call("POST", f"/tasks/{task_id}/retry")
    fake_worker.fail(fake_worker.start("test"))
    first = visit.open(f"/tasks/{task_id}")
    bars = first.locator(".attempt-bars li")
    expect(bars).to_have_count(12)
    first.get_by_role("button", name="Show 3 earlier attempts").click()
    expect(bars).to_have_count(15)
    branches = first.locator(".bar .branch")  # each attempt begins where the one before has ended
    expect(branches).to_have_count(14)
    starts = branches.evaluate_all("all => all.map((each) => each.style.left)")
    assert starts == first.locator(".bar .end").evaluate_all("all => all.slice(0, -1).map((each) => each.style.left)")
    expect(first.locator(".attempts li")).to_have_count(15)
    with visit.page.context.new_page() as second:
        second.goto(first.url)
        expect_status(second, "dead")
        second.get_by_role("button", name="Retry", exact=True).dblclick()
        expect_status(second, "queued")
    expect_status(first, "queued")
    moves: list[dict[str, Any]] = server.call("GET", f"/tasks/{task_id}/events?kind=status&limit=500")["items"]
    assert [move["data"]["to"] for move in moves[-2:]] == ["dead", "queued"]
    assert len(moves) == 2 + 14 * 3 + 1 + 1
