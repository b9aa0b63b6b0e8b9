"""Schedules: what starts again and again, when, and what an operator changes about it."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from state.access.keys import create_key
from tests.console.browser import Visit
from tests.console.keys import button, open_with_key
from tests.console.server import ServerProcess
from tests.console.task_fixtures import Start, server  # noqa: F401  (a fixture)
from tests.support.clock import Clock
from tests.support.workers import TEST_ACTORS

CheckPage = Callable[[Page, str], None]
Create = Callable[..., str]
MARKUP = "<img src=x onerror=alert(1)>"
WORDS = {
    "* * * * *": "Every minute",
    "*/15 * * * *": "Every 15th minute of every hour",
    "@hourly": "At the start of every hour",
    "@daily": "At 00:00 every day",
    "30 6 * * 1-5": "At 06:30 on Monday through Friday",
    "0 9,17 * * SAT,SUN": "At 09:00 and 17:00 on Saturday and Sunday",
    "0 8 * JAN-MAR MON,WED": "At 08:00 on Monday and Wednesday in every month from January through March",
    "0 0 L * *": "At 00:00 on the last day of every month",
    "0 0 * * MON#2": "At 00:00 on the second Monday of the month",
    "*/10 9-17 * * 1-5": "Every 10th minute from 09:00 through 17:59 on Monday through Friday",
}


@pytest.fixture
def start(worker: Start) -> Start:
    return partial(worker, actors=TEST_ACTORS)


@pytest.fixture
def create(server: ServerProcess) -> Create:  # noqa: F811
    """Creates a schedule; returns its id."""

    def create(name: str, cron: str = "@daily", actor: str = "note", **options: Any) -> str:
        body = {"name": name, "cron": cron, "actor": actor, **options}
        schedule_id: str = server.call("POST", "/schedules", body)["schedule_id"]
        return schedule_id

    return create


def schedule(page: Page, name: str) -> Locator:
    return page.get_by_role("row").filter(has=button(page, name))


def ticks(row: Locator) -> list[str]:
    return [each.get_attribute("datetime") or "" for each in row.locator(".ticks time").all()]


def test_run_now_and_see_the_task(visit: Visit, create: Create, start: Start, check_page: CheckPage) -> None:
    create("nightly", "30 6 * * 1-5", timezone="Europe/Berlin", payload={"text": "hello"})
    create("hourly", "0 * * * *", actor="fail", max_attempts=1, paused=True)
    start()
    page = visit.open("/schedules")
    row = schedule(page, "nightly")
    expect(row).to_contain_text("At 06:30 on Monday through Friday")
    expect(row).to_contain_text("30 6 * * 1-5 · Europe/Berlin")
    expect(row).to_contain_text("none yet")
    expect(row.locator(".ticks time")).to_have_text([re.compile("06:30$")] * 3)  # on the clocks of Berlin
    expect(row.locator(".ticks time").first).to_have_attribute("title", re.compile("20[0-9]{2}.*UTC"))
    button(page, "Run now: nightly").click()
    expect(row).to_contain_text("completed")
    task = row.get_by_role("link").get_attribute("href")
    expect(page.locator(".toast").get_by_role("link")).to_have_attribute("href", task or "")
    button(page, "Run now: hourly").click()  # also while it is paused
    expect(schedule(page, "hourly")).to_contain_text("dead")
    button(page, "nightly").click()
    runs = page.get_by_role("table", name="Runs of nightly").locator("tbody tr")
    expect(runs).to_have_count(1)
    expect(runs).to_contain_text("asked for")
    expect(page.locator("schedule-details ol li")).to_have_count(5)
    expect(page.locator("schedule-details .json")).to_contain_text("hello")
    check_page(page, "schedules")
    page.reload()
    expect(runs).to_have_count(1)
    page.locator("schedule-details").get_by_role("link").click()
    page.get_by_role("link", name=re.compile("^sc_")).click()
    expect(runs).to_have_count(1)


def test_ticks_move_on_and_a_pause_stops_them(
    visit: Visit,
    server: ServerProcess,  # noqa: F811
    create: Create,
    start: Start,
    clock: Clock,
) -> None:
    schedule_id = create("quarter", "*/15 * * * *")
    start()
    page = visit.open(f"/schedules?id={schedule_id}")
    row = schedule(page, "quarter")
    expect(row.locator(".ticks time")).to_have_count(3)
    first, second, _ = ticks(row)
    clock.advance(15 * 60)
    expect(row.locator(".ticks time").first).to_have_attribute("datetime", second)
    runs = page.get_by_role("table", name="Runs of quarter").locator("tbody tr")
    expect(runs).to_have_count(1)
    expect(runs).to_contain_text("started")
    expect(runs.locator("time").first).to_have_attribute("datetime", first)
    expect(row).to_contain_text("completed")
    button(page, "Pause: quarter").click()
    expect(row).to_contain_text("paused")
    expect(page.locator("schedule-details")).to_contain_text("None while it is paused.")
    clock.advance(30 * 60)
    button(page, "Resume: quarter").click()
    expect(row.locator(".ticks time")).to_have_count(3)
    assert ticks(row)[0] > second
    assert len(server.call("GET", f"/schedules/{schedule_id}/runs")["items"]) == 1


def test_create(visit: Visit, server: ServerProcess, check_page: CheckPage) -> None:  # noqa: F811
    page = visit.open("/schedules")
    expect(page.get_by_text("No schedules yet.")).to_be_visible()
    check_page(page, "schedules-empty")
    button(page, "New schedule").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Name", exact=True).fill("words")
    due = form.locator(".due")
    for cron, words in WORDS.items():
        form.get_by_label("Cron").fill(cron)
        expect(due).to_contain_text(words)
        expect(due.locator("time")).to_have_count(5)
    form.get_by_label("Cron").fill("61 * * * *")
    expect(form.locator(".field", has=page.get_by_label("Cron")).locator(".field-error")).to_contain_text("bad minute")
    expect(form.get_by_label("Cron")).to_be_focused()
    form.get_by_label("Cron").fill("0 3 * * *")
    form.get_by_label("Timezone").fill("Europe/Berlinn")
    button(page, "Create").click()
    expect(form.locator(".field", has=page.get_by_label("Timezone")).locator(".field-error")).to_contain_text(
        "did you mean Europe/Berlin?"
    )
    form.get_by_label("Timezone").fill("Europe/Berlin")
    form.get_by_label("What to run").select_option("agent:text/statistics")
    form.get_by_role("group", name="Input").get_by_label("Text").fill("good night")
    form.locator("summary").click()
    form.get_by_label("Priority").select_option("low")
    form.get_by_label("Overlap").select_option("skip")
    form.get_by_label("Max attempts").fill("0")
    button(page, "Create").click()
    expect(form.get_by_label("Max attempts")).to_have_attribute("aria-invalid", "true")
    form.get_by_label("Max attempts").fill("2")
    check_page(page, "schedules-new")
    button(page, "Create").click()
    expect(schedule(page, "words")).to_contain_text("At 03:00 every day")
    [made] = server.call("GET", "/schedules")["items"]
    assert made["payload"] == {"agent_name": "text", "task_type": "statistics", "input": {"text": "good night"}}
    assert (made["priority"], made["max_attempts"], made["overlap"]) == (3, 2, "skip")
    assert (made["cron"], made["timezone"]) == ("0 3 * * *", "Europe/Berlin")


def test_change_and_delete(visit: Visit, server: ServerProcess, create: Create) -> None:  # noqa: F811
    create("taken")
    payload = {"file": None, "text": "one", "seconds": 0, "value": 2**60}
    schedule_id = create("quarter", "*/15 * * * *", payload=payload, target="printer")
    before = server.call("GET", f"/schedules/{schedule_id}")
    page = visit.open(f"/schedules?id={schedule_id}")
    button(page, "Change").click()
    form = page.get_by_role("dialog")
    expect(form.get_by_label("Cron")).to_have_value("*/15 * * * *")
    form.get_by_label("Name", exact=True).fill("taken")
    button(page, "Save").click()
    expect(form.get_by_role("alert")).to_contain_text("There is a schedule of this name")
    form.get_by_label("Name", exact=True).fill("half")
    form.get_by_label("Cron").fill("*/30 * * * *")
    form.get_by_label("Text").fill("two")
    form.locator("summary").click()
    form.get_by_label("Target").fill("")
    with page.expect_request(lambda request: request.method == "PATCH") as sent:
        button(page, "Save").click()
    expect(schedule(page, "half")).to_contain_text("Every 30th minute of every hour")
    changed = {"name": "half", "cron": "*/30 * * * *", "target": None, "payload": {**payload, "text": "two"}}
    assert sent.value.post_data_json == changed  # what was not touched is not sent
    after = server.call("GET", f"/schedules/{schedule_id}")
    moved = {name for name in after if after[name] != before[name]} - {"updated_at", "next_at", "next_ticks"}
    assert moved == {*changed, "description"}
    button(page, "Delete").click()
    button(page, "Delete it").click()
    expect(button(page, "half")).to_have_count(0)
    expect(button(page, "taken")).to_be_visible()


def test_odd_ones(visit: Visit, server: ServerProcess, create: Create, check_page: CheckPage) -> None:  # noqa: F811
    schedule_id = create(f"{MARKUP} {'x' * 150}", "0 0 29 2 *", payload={"text": MARKUP}, tenant="<b>acme</b>")
    busy = create("busy", actor="steps", payload={"seconds": 60}, overlap="skip")
    server.call("POST", f"/schedules/{busy}/run")
    for n in range(100):
        create(f"schedule {n:03}", f"{n % 60} */3 * * *")
    page = visit.open(f"/schedules?id={schedule_id}")  # an older one, which a link names
    rows = page.get_by_role("table", name="Schedules").locator("tbody > tr")
    expect(page.locator("schedule-details .json")).to_contain_text(MARKUP)
    expect(rows.first).to_contain_text(f"{MARKUP} xxx")
    expect(page.locator("main img, main b:text('acme')")).to_have_count(0)
    check_page(page, "schedules-odd")
    button(page, "Show more").click()
    expect(button(page, "busy")).to_be_visible()
    button(page, "Run now: busy").click()
    expect(page.locator(".toast")).to_contain_text("has not ended")
    expect(schedule(page, "busy")).to_contain_text("queued")


def test_a_reader_only_looks(visit: Visit, create: Create) -> None:
    schedule_id = create("nightly", tenant="acme")
    create("of globex", tenant="globex")
    _, reader = create_key("joe", "reader", tenant="acme")
    page = open_with_key(visit, f"/schedules?id={schedule_id}", reader)
    expect(schedule(page, "nightly")).to_contain_text("At 00:00 every day")
    expect(page.get_by_text("It has not run yet.")).to_be_visible()
    expect(button(page, "of globex")).to_have_count(0)
    expect(page.get_by_role("button", name=re.compile("^(Run|Pause|Resume|New|Change|Delete)"))).to_have_count(0)
