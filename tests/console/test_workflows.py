"""Workflows in the console: the list, the graph that follows them, decisions and repairs."""

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from state.workflows import get_workflow
from tests.console.browser import PHONE, Visit
from tests.console.server import ServerProcess
from tests.support.eventually import eventually
from tests.support.workers import WorkerTree

CheckPage = Callable[[Page, str], None]
Start = Callable[..., WorkerTree]
MARKUP = "<img src=x onerror=alert(1)><b>&amp;"
ESCALATION = {"to": "the editors", "note": "see the runbook"}


@pytest.fixture(autouse=True)
def agents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLBOARD_ACTORS", "actors,tests.console.workflowagents")


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """A file that steps wait for."""
    return tmp_path / "gate"


def step(key: str, *after: str, **rest: Any) -> dict[str, Any]:
    return {"key": key, "agent_name": "studio", "task_type": "make", "after": list(after), **rest}


def approval(key: str, *after: str, **rest: Any) -> dict[str, Any]:
    return {"key": key, "kind": "approval", "after": list(after), **rest}


def create(server: ServerProcess, *steps: dict[str, Any], name: str = "Autumn catalog", **rest: Any) -> str:
    workflow_id: str = server.call("POST", "/workflows", {"name": name, "steps": list(steps), **rest})["workflow_id"]
    return workflow_id


def node(page: Page, key: str) -> Locator:
    return page.locator(f'.graph [data-step="{key}"]')


def expect_step(page: Page, key: str, status: str) -> None:
    expect(node(page, key)).to_have_class(re.compile(rf"\bs-{status}\b"))


def show_toast(page: Page) -> Locator:
    return page.locator("#toasts")


def test_a_step_is_approved_and_the_workflow_goes_on(
    visit: Visit, server: ServerProcess, start: Start, check_page: CheckPage
) -> None:
    start()
    publish = approval("publish", "draft", "pictures", expires_seconds=86400)
    later = [step("print", "publish"), step("announce", "publish"), step("archive", "print", "announce")]
    workflow_id = create(server, step("draft", input={"title": "Lighthouses"}), step("pictures"), publish, *later)
    page = visit.open("/workflows")
    row = page.get_by_role("row").filter(has_text="Autumn catalog")
    expect(row).to_contain_text("waits for a decision")
    row.get_by_role("link", name="publish").click()
    expect_step(page, "publish", "waiting")
    expect_step(page, "draft", "completed")
    expect_step(page, "print", "pending")
    expect(page.locator(".notice")).to_contain_text("publish waits for a decision")
    check_page(page, "workflow-waiting")
    page.locator(".notice").get_by_role("button", name="Approve").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Then print, announce can start.")
    dialog.get_by_label("Who decides").fill("anna")
    dialog.get_by_label("Why").fill("looks good")
    dialog.get_by_role("button", name="Approve").dblclick()
    expect(show_toast(page)).to_contain_text("publish is approved by anna")
    for key in ("print", "announce", "archive"):
        expect_step(page, key, "completed")
    expect(page.locator(".workflow-facts")).to_contain_text("6 of 6")
    expect(page.locator(".history")).to_contain_text("by anna · looks good")
    expect(page.locator("step-details")).to_contain_text("approved by anna")
    node(page, "draft").click()
    expect(page.locator("step-details")).to_contain_text("9223372036854775809")
    check_page(page, "workflow-completed")
    assert get_workflow(workflow_id).status == "completed"


def test_a_rejection_cannot_be_repaired(visit: Visit, server: ServerProcess) -> None:
    workflow_id = create(server, approval("publish"), step("print", "publish"), escalation=ESCALATION)
    page = visit.open(f"/workflows/{workflow_id}")
    page.locator("step-details").get_by_role("button", name="Reject").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("escalated to the editors")
    dialog.get_by_role("button", name="Reject").click()
    expect(dialog).to_be_visible()  # a name is needed
    dialog.get_by_label("Who decides").fill("bert")
    dialog.get_by_role("button", name="Reject").click()
    expect(page.locator(".stopped")).to_contain_text("Escalated to the editors (see the runbook)")
    expect(page.locator(".stopped")).to_contain_text("Nothing can repair publish")
    expect(page.locator(".stopped").get_by_role("button")).to_have_count(0)
    expect(page.locator("step-details")).to_contain_text("rejected by bert")
    page.get_by_role("button", name="Cancel workflow").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel workflow").click()
    expect(show_toast(page)).to_contain_text("Autumn catalog is canceled")
    expect_step(page, "print", "canceled")
    expect(page.get_by_role("button", name="Cancel workflow")).to_have_count(0)


def test_a_decision_made_elsewhere_is_said(visit: Visit, server: ServerProcess) -> None:
    workflow_id = create(server, approval("publish"), approval("print", "publish"))
    page = visit.open(f"/workflows/{workflow_id}")
    page.locator(".notice").get_by_role("button", name="Reject").click()
    server.call("POST", f"/workflows/{workflow_id}/steps/publish/approve", {"by": "anna"})
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Who decides").fill("bert")
    dialog.get_by_role("button", name="Reject").click()
    expect(dialog.get_by_role("alert")).to_contain_text("reject is not possible")
    dialog.get_by_role("button", name="Back").click()
    expect(page.locator(".notice")).to_contain_text("print waits for a decision")


def test_a_step_that_fails_is_retried_and_the_workflow_completes(
    visit: Visit, server: ServerProcess, start: Start, tmp_path: Path, check_page: CheckPage
) -> None:
    start()
    broken = tmp_path / "broken"
    broken.touch()
    workflow_id = create(
        server, step("draft"), step("pictures", "draft", input={"fails_while": str(broken)}), step("print", "pictures"),
        escalation=ESCALATION,
    )  # fmt: skip
    page = visit.open(f"/workflows/{workflow_id}")
    expect_step(page, "pictures", "dead")
    expect(node(page, "pictures")).to_contain_text("PageMissing")
    expect(page.locator("step-details .problem")).to_contain_text("page 7 is missing")
    expect(page.locator(".stopped")).to_contain_text("Escalated to the editors")
    check_page(page, "workflow-stopped")
    page.get_by_role("button", name="Resume only").click()
    expect(show_toast(page)).to_contain_text("pictures")  # it must be repaired first
    page.get_by_role("button", name="Retry 1 task and resume").click()
    expect(show_toast(page)).to_contain_text("1 task of pictures: runs again.")
    eventually(lambda: get_workflow(workflow_id).status == "escalated", what="it fails again")
    broken.unlink()
    page.get_by_role("button", name="Retry 1 task and resume").click()
    for key in ("pictures", "print"):
        expect_step(page, key, "completed")
    expect(page.locator(".stopped")).to_have_count(0)
    expect(page.locator(".workflow-facts")).to_contain_text("3 of 3")


def test_a_failed_step_is_given_up(visit: Visit, server: ServerProcess, start: Start, tmp_path: Path) -> None:
    start()
    failing = {"fails_while": str(tmp_path)}
    workflow_id = create(server, step("pictures", input=failing), step("print", "pictures"), step("letter"))
    page = visit.open(f"/workflows/{workflow_id}?step=pictures")
    page.locator("step-details").get_by_role("button", name="Give up").click()
    page.get_by_role("dialog").get_by_role("button", name="Give up").click()
    expect_step(page, "pictures", "canceled")
    page.get_by_role("button", name="Resume", exact=True).click()
    expect(page.locator(".workflow-facts .chip")).to_have_text("completed")
    expect_step(page, "print", "pending")
    assert get_workflow(workflow_id).status == "completed"


def test_the_graph_follows_the_running_step(
    visit: Visit, server: ServerProcess, start: Start, gate: Path, check_page: CheckPage
) -> None:
    start(threads=8)
    held = {"waits_for": str(gate)}
    pages = {"for_each": [f"Page {n}" for n in range(1, 41)], "input": {"title": {"$item": True}, **held}}
    steps = [step("start"), step("pages", "start", **pages), step("binding", "pages"), approval("publish", "binding")]
    workflow_id = create(server, *steps)
    page = visit.open(f"/workflows/{workflow_id}")
    expect_step(page, "pages", "running")
    expect(node(page, "pages")).to_have_class(re.compile("selected"))
    expect(node(page, "pages")).to_contain_text("0 of 40 tasks")
    expect(page.locator(".step-tasks tbody tr")).to_have_count(20)
    expect(page.locator(".step-tasks")).to_contain_text("40 % makes Page 1")
    page.locator("step-details").get_by_role("button", name="Show more").click()
    expect(page.locator(".step-tasks tbody tr")).to_have_count(40)
    check_page(page, "workflow-running")
    gate.touch()
    expect_step(page, "publish", "waiting")
    expect(node(page, "publish")).to_have_class(re.compile("selected"))
    expect(page.locator("step-details")).to_contain_text("a person decides")
    node(page, "start").click()
    expect(page.get_by_role("button", name="Follow")).to_have_attribute("aria-pressed", "false")
    server.call("POST", f"/workflows/{workflow_id}/steps/publish/approve", {"by": "anna"})
    expect_step(page, "publish", "completed")
    expect(node(page, "start")).to_have_class(re.compile("selected"))


def test_the_server_is_killed_and_started_again_in_the_middle(
    visit: Visit, server: ServerProcess, start: Start, gate: Path
) -> None:
    start()
    held = {"waits_for": str(gate)}
    workflow_id = create(server, step("draft"), step("pictures", "draft", input=held), step("print", "pictures"))
    page = visit.open(f"/workflows/{workflow_id}")
    expect_step(page, "pictures", "running")
    server.kill()
    expect(page.get_by_role("alert")).to_contain_text("The server cannot be reached")
    gate.touch()
    eventually(lambda: get_workflow(workflow_id).status == "completed", what="the workflow goes on")
    server.start()
    expect_step(page, "print", "completed")
    expect(page.locator(".history li")).to_have_count(8)


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


def test_a_reader_sees_no_button_that_would_be_refused(
    visit: Visit, server: ServerProcess, start: Start, tmp_path: Path
) -> None:
    start()
    waiting = create(server, approval("publish"), tenant="acme")
    failed = create(server, step("pictures", input={"fails_while": str(tmp_path)}), tenant="acme", name="Broken one")
    other = create(server, approval("publish"), tenant="umbra", name="Theirs")
    eventually(lambda: get_workflow(failed).status == "failed", what="it fails")
    key = server.call("POST", "/keys", {"name": "eve", "role": "reader", "tenant": "acme"})["key"]
    page = visit.page
    page.goto(server.url)
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("link", name="Workflows").click()
    expect(page.locator(".workflows tbody tr")).to_have_count(2)
    expect(page.get_by_label("Tenant")).to_have_count(0)
    visit.open(f"/workflows/{waiting}")
    expect(page.locator(".notice")).to_contain_text("An operator can approve or reject.")
    expect_step(page, "publish", "waiting")
    for name in ("Approve", "Reject", "Cancel workflow"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    visit.open(f"/workflows/{failed}")
    expect_step(page, "pictures", "dead")
    for name in ("Retry", "Give up", "Resume", "Cancel workflow"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    visit.open(f"/workflows/{other}")
    expect(page.get_by_role("alert").filter(has_text="No such workflow")).to_be_visible()  # the page before had alerts


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
