"""Submitting: the form for a payload, what it will cost, the refusals, and the result as it comes."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.browser import Visit
from tests.console.server import ServerProcess
from tests.support.workers import WorkerTree

Start = Callable[..., WorkerTree]
Check = Callable[[Page, str], None]


@pytest.fixture
def every_field(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server knows an actor with every kind of field."""
    monkeypatch.setenv("CALLBOARD_ACTORS", "actors,tests.console.formactors")


def open_form(visit: Visit, work: str) -> Page:
    page = visit.open(f"/submit?work={work}")
    expect(page.get_by_role("button", name="Submit")).to_be_visible()
    return page


def list_tasks(server: ServerProcess) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = server.call("GET", "/tasks")["items"]
    return items


def submit(page: Page) -> Locator:
    """Submits, and returns what shows the task."""
    page.get_by_role("button", name="Submit").click()
    return page.locator("live-task").first


def test_media_is_previewed_and_its_picture_appears(
    visit: Visit, server: ServerProcess, start: Start, check_page: Check
) -> None:
    start()
    page = open_form(visit, "media_generation")
    page.get_by_label("Prompt", exact=True).fill("a lighthouse at dusk")
    page.get_by_label("Width").fill("192")
    page.get_by_label("Height").fill("128")
    page.get_by_label("Step seconds").fill("0.02")
    preview = page.locator(".preview")
    expect(preview).to_contain_text(re.compile("192 . 128"))
    expect(preview).to_contain_text("Cost")
    task = submit(page)
    picture = task.locator("img")
    expect(picture).to_be_visible()
    expect(picture).to_have_js_property("naturalWidth", 192)
    [made] = list_tasks(server)
    assert made["payload"]["params"] == {"width": 192, "height": 128, "step_seconds": 0.02}
    expect(task.get_by_role("link", name="Open the task")).to_have_attribute("href", f"#/tasks/{made['task_id']}")
    page.evaluate("scrollTo(0, 0)")
    check_page(page, "submit")
    page.reload()
    expect(page.locator("live-task img")).to_be_visible()


def group(page: Page, name: str) -> Locator:
    """A group of fields by its heading."""
    return page.locator("fieldset").filter(has=page.locator(f":scope > legend:text-matches('^{name}$')"))


def fill_every_field(page: Page) -> dict[str, Any]:
    """Fills in the form of every_field; returns the payload that it stands for."""
    page.get_by_label("Name <img").fill("Ada")
    page.get_by_label("Story").fill("Once\nupon a time")
    page.get_by_label("Count").fill("7")
    page.get_by_label("Large").fill("123456789012345678901234567890")
    page.get_by_label("Ratio").fill("0.25")
    page.get_by_label("Loud").check()
    page.get_by_label("Sure").select_option("no")
    page.get_by_label("Color").select_option("green")
    page.get_by_label("Day").fill("2026-02-03")
    page.get_by_label("Moment").fill("2026-02-03T04:05:06")
    page.get_by_label("Picture").set_input_files({"name": "a", "mimeType": "image/png", "buffer": b"\x89PNG"})
    expect(page.get_by_text("4 B chosen")).to_be_visible()
    place = group(page, "Place")
    place.get_by_label("Street").fill("Main Street 1")
    group(page, "Point").get_by_role("button", name="Add").click()
    group(page, "Point").get_by_label("X").fill("-5")
    tags = group(page, "Tags")
    for number, text in enumerate(("one", "two", "three"), start=1):
        tags.get_by_role("button", name="Add").click()
        tags.get_by_label(str(number), exact=True).fill(text)
    tags.get_by_role("button", name="Remove entry 2").click()
    expect(tags.get_by_label("2", exact=True)).to_have_value("three")
    points = group(page, "Points")
    points.get_by_role("button", name="Add").last.click()
    points.get_by_label("X").fill("1")
    scores = group(page, "Scores")
    scores.get_by_role("button", name="Add").click()
    scores.get_by_label("Name 1").fill("a.b")
    scores.get_by_label("Value").fill("12")
    figure = group(page, "Figure")
    figure.get_by_label("Kind").select_option("Square")
    figure.get_by_label("Side").fill("4")
    either = group(page, "Either")
    either.get_by_label("Kind").select_option("array")
    either.get_by_role("button", name="Add").click()
    either.get_by_label("1", exact=True).fill("x")
    page.get_by_label("Anything").fill('{"deep": [1, 98765432109876543210]}')
    page.get_by_label("Pair").fill('[1, "b"]')
    return {
        "name": "Ada",
        "story": "Once\nupon a time",
        "count": 7,
        "large": 123456789012345678901234567890,
        "ratio": 0.25,
        "loud": True,
        "sure": False,
        "color": "green",
        "day": "2026-02-03",
        "moment": "2026-02-03T04:05:06Z",
        "picture": "iVBORw==",
        "place": {"street": "Main Street 1", "point": {"x": -5, "y": 0}},
        "tags": ["one", "three"],
        "points": [{"x": 1, "y": 0}],
        "scores": {"a.b": 12},
        "figure": {"shape": "square", "side": 4},
        "either": ["x"],
        "anything": {"deep": [1, 98765432109876543210]},
        "pair": [1, "b"],
    }


@pytest.mark.usefixtures("every_field")
def test_the_form_knows_every_kind_of_field(visit: Visit, server: ServerProcess, check_page: Check) -> None:
    page = open_form(visit, "every_field")
    payload = fill_every_field(page)
    check_page(page, "submit-fields")
    page.get_by_role("button", name="JSON").click()
    expect(page.get_by_label("Payload")).to_have_value(re.compile("123456789012345678901234567890"))
    page.get_by_role("button", name="Form").click()
    expect(page.get_by_label("Large")).to_have_value("123456789012345678901234567890")
    expect(group(page, "Scores").get_by_label("Name 1")).to_have_value("a.b")
    expect(group(page, "Figure").get_by_label("Side")).to_have_value("4")
    expect(group(page, "Point").get_by_label("X")).to_have_value("-5")
    expect(submit(page)).to_contain_text("queued")
    [made] = list_tasks(server)
    assert made["payload"] == payload
    assert page.title() == "Submit · Callboard"
    expect(page.locator("form img, form b")).to_have_count(0)


@pytest.mark.usefixtures("every_field")
def test_what_is_wrong_is_shown_beside_the_field(visit: Visit, server: ServerProcess) -> None:
    page = open_form(visit, "every_field")
    payload = fill_every_field(page)

    def expect_error(field: Locator, wrong: str, message: str, right: str) -> None:
        field.fill(wrong)
        page.get_by_role("button", name="Submit").click()
        expect(field).to_have_attribute("aria-invalid", "true")
        expect(field).to_be_focused()
        said = page.locator(f"#{field.get_attribute('id')}-error")
        expect(said).to_contain_text(message)
        field.fill(right)
        expect(said).to_have_count(0)

    expect_error(page.get_by_label("Count"), "11", "less than or equal to 10", "7")
    expect_error(page.get_by_label("Count"), "many", "not a whole number", "7")
    expect_error(group(page, "Point").get_by_label("X"), "5.5", "not a whole number", "-5")
    page.locator("summary").click()
    expect_error(page.get_by_label("Max attempts"), "0", "greater than or equal to 1", "2")
    assert list_tasks(server) == []
    page.get_by_role("button", name="JSON").click()
    page.get_by_label("Payload").fill(json.dumps({**payload, "count": 99}, indent=1))
    page.get_by_role("button", name="Submit").click()
    expect(page.locator("#json-editor-error")).to_contain_text("count")
    page.get_by_label("Payload").fill(json.dumps(payload))
    expect(submit(page)).to_contain_text("queued")
    [made] = list_tasks(server)
    assert (made["payload"], made["max_attempts"]) == (payload, 2)


# In one step: the meter goes when the generation ends.
_SHOWN = "task => Number(task.querySelector('[role=meter]')?.getAttribute('aria-valuenow') ?? 100)"


def test_a_reload_in_the_middle(visit: Visit, server: ServerProcess, start: Start) -> None:
    start()
    page = open_form(visit, "media_generation")
    page.get_by_label("Prompt", exact=True).fill("a lighthouse at dusk")
    page.get_by_label("Steps", exact=True).fill("10")
    page.get_by_label("Step seconds").fill("0.3")
    task = submit(page)
    meter = task.get_by_role("meter")
    expect(meter).to_be_visible()
    begun = task.evaluate(_SHOWN)
    page.reload()
    expect(meter.or_(task.locator("img")).first).to_be_visible()  # a slow machine may need longer than the generation
    assert task.evaluate(_SHOWN) >= begun
    expect(task.locator("img")).to_have_js_property("naturalWidth", 512)
    [made] = list_tasks(server)
    assert (made["status"], made["attempt"]) == ("completed", 1)
