"""Workflows in the console: the list, the graph by keys, a large one, odd names, and a phone."""

from itertools import pairwise

from playwright.sync_api import expect

from state.workflows import get_workflow
from tests.console.browser import PHONE, Visit
from tests.console.server import ServerProcess
from tests.console.test_workflows import (  # noqa: F401
    MARKUP,
    CheckPage,
    Start,
    agents,
    approval,
    create,
    expect_step,
    node,
    step,
)


def test_the_graph_is_walked_through_by_keys(visit: Visit, server: ServerProcess) -> None:
    fan = [approval(f"page-{n}", "start") for n in range(1, 4)]
    workflow_id = create(server, approval("start"), *fan, approval("end", "page-1", "page-2", "page-3", "start"))
    page = visit.open(f"/workflows/{workflow_id}")
    expect_step(page, "start", "waiting")
    assert page.locator('.graph [tabindex="0"]').count() == 1
    node(page, "start").focus()
    for key, focused in (
        ("ArrowRight", "page-2"), ("ArrowUp", "page-1"), ("ArrowUp", "page-1"), ("ArrowDown", "page-2"),
        ("ArrowRight", "end"), ("Home", "start"), ("End", "end"), ("ArrowLeft", "page-2"),
    ):  # fmt: skip
        page.keyboard.press(key)
        expect(node(page, focused)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("step-details h2")).to_contain_text("page-2")
    expect(node(page, "page-2")).to_be_focused()
    assert page.locator('.graph [tabindex="0"]').count() == 1
    page.get_by_role("button", name="List").click()
    page.get_by_role("button", name="page-3", exact=True).click()
    expect(page.locator("step-details h2")).to_contain_text("page-3")


def test_two_hundred_steps(visit: Visit, server: ServerProcess, check_page: CheckPage) -> None:
    """None on top of another, each right of those it comes after."""
    rows, layers = 8, 25
    steps = [
        approval(f"step-{layer}-{row}", *(f"step-{layer - 1}-{(row + d) % rows}" for d in (0, 3) if layer))
        for layer in range(layers)
        for row in range(rows)
    ]
    page = visit.open(f"/workflows/{create(server, *steps)}")
    expect(page.locator(".graph .node")).to_have_count(200)
    places = page.evaluate("""() => [...document.querySelectorAll(".graph .node")].map((each) =>
      [each.dataset.step, ...each.getAttribute("transform").match(/[\\d.]+/g).map(Number)])""")
    at = {key: (x, y) for key, x, y in places}
    for each in steps:
        assert all(at[parent][0] + 196 < at[each["key"]][0] for parent in each["after"])
    for layer in range(layers):
        heights = sorted(at[f"step-{layer}-{row}"][1] for row in range(rows))
        assert all(after - before >= 54 for before, after in pairwise(heights))
    page.get_by_role("button", name="Fit").click()
    check_page(page, "workflow-large")


def test_names_are_text(visit: Visit, server: ServerProcess, start: Start, check_page: CheckPage) -> None:
    start()
    long = "step-" + "w" * 95
    workflow_id = create(
        server, step(long, input={"title": MARKUP}, max_attempts=1), approval("publish", long), name=MARKUP,
        tenant=MARKUP, escalation={"to": MARKUP, "note": MARKUP},
    )  # fmt: skip
    page = visit.open("/workflows")
    expect(page.get_by_role("link", name=MARKUP)).to_be_visible()
    page.get_by_role("link", name=MARKUP).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(MARKUP)
    expect_step(page, "publish", "waiting")
    node(page, long).click()
    expect(page.locator("step-details")).to_contain_text(MARKUP)
    page.locator("step-details").scroll_into_view_if_needed()
    check_page(page, "workflow-markup")
    page.locator(".notice").get_by_role("button", name="Reject").click()
    page.get_by_role("dialog").get_by_label("Who decides").fill(MARKUP)
    page.get_by_role("dialog").get_by_label("Why").fill("x" * 2000)
    page.get_by_role("dialog").get_by_role("button", name="Reject").click()
    expect(page.locator(".stopped")).to_contain_text(MARKUP)
    expect(page.locator(".history")).to_contain_text("x" * 2000)
    check_page(page, "workflow-markup-rejected")
    assert page.locator("main img").count() == 0
    assert get_workflow(workflow_id).status == "escalated"


def test_the_list(visit: Visit, server: ServerProcess, check_page: CheckPage) -> None:
    page = visit.open("/workflows")
    expect(page.locator(".empty")).to_contain_text("callboard workflow create")
    check_page(page, "workflows-empty")
    for name, tenant in (("Release 4.2", "acme"), ("Newsletter", "acme"), ("Onboarding", "umbra")):
        canceled = create(server, approval("draft"), approval("check", "draft"), name=name, tenant=tenant)
    expect(page.locator(".workflows tbody tr")).to_have_count(3)
    server.call("POST", f"/workflows/{canceled}/cancel")
    page.get_by_role("button", name="canceled").click()
    expect(page.locator(".workflows tbody tr")).to_have_count(1)
    page.get_by_role("button", name="all").click()
    expect(page.locator(".workflows tbody tr")).to_have_count(3)
    check_page(page, "workflows")
    page.get_by_label("Tenant").fill("acme")
    page.keyboard.press("Enter")
    expect(page.locator(".workflows tbody tr")).to_have_count(2)
    assert "tenant=acme" in page.url
    page.reload()
    expect(page.locator(".workflows tbody tr")).to_have_count(2)
    page.get_by_role("button", name="failed").click()
    expect(page.locator(".empty")).to_contain_text("There is no failed workflow of tenant acme.")
    page.get_by_role("button", name="Show all").click()
    expect(page.locator(".workflows tbody tr")).to_have_count(3)


def test_a_phone_shows_the_steps_as_a_list(visit: Visit, server: ServerProcess) -> None:
    visit.page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    page = visit.open(f"/workflows/{create(server, approval('publish'), approval('print', 'publish'))}")
    expect(page.locator(".step-list tbody tr")).to_have_count(2)
    page.get_by_role("button", name="Graph").click()
    expect_step(page, "publish", "waiting")
