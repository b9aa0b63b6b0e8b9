"""Workflows in the console: the list, the graph that follows them, decisions and repairs."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from state.workflows import get_workflow
from tests.console.browser import Visit
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
