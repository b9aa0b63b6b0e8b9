"""What can be done with a task on its page: stop it with a receipt, repair and retry it, copy it as a command."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, expect

from state.access.keys import create_key
from tests.console.browser import Visit
from tests.console.server import ServerProcess
from tests.console.task_fixtures import Start, Submit, server, submit  # noqa: F401
from tests.console.test_task import expect_actions, expect_status
from tests.support.eventually import eventually

CheckPage = Callable[[Page, str], None]
BIG = 9007199254740993  # the first integer that a number of JavaScript cannot hold
MARKUP = '<img src=x onerror=alert(1)> it\'s "50 %" !! $HOME `id` \\ ü\n\ttwo lines \N{PERFORMING ARTS}'


def confirm(page: Page, button: str, answer: str) -> None:
    page.get_by_role("button", name=button, exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name=answer, exact=True).click()


def test_a_cancel_and_its_receipt(visit: Visit, worker: Start, submit: Submit) -> None:  # noqa: F811
    worker()
    task_id = submit("async_steps", {"seconds": 600})
    page = visit.open(f"/tasks/{task_id}")
    expect_actions(page, ["Pause", "Cancel", "Force stop", "Copy as curl", "Copy as Python"])
    page.get_by_role("button", name="Pause", exact=True).click()
    receipt = page.locator(".receipt")
    expect(receipt).to_contain_text("Receipt of the pause")
    expect(receipt.locator("li").last).to_contain_text("stopped")
    expect_status(page, "paused")
    page.get_by_role("button", name="Resume").click()
    expect_status(page, "running")
    confirm(page, "Cancel", "Back")
    expect_status(page, "running")
    confirm(page, "Cancel", "Cancel the task")
    expect(receipt).to_contain_text("Receipt of the cancel")
    expect(receipt.locator("li").first).to_contain_text("cancel requested")
    expect(receipt.locator("li").last).to_contain_text("stopped")
    expect_status(page, "canceled")
    expect_actions(page, ["Remove", "Copy as curl", "Copy as Python"])
    confirm(page, "Remove", "Remove")
    expect(page.get_by_role("heading", level=1)).to_have_text("Tasks")


def test_a_stop_by_force(visit: Visit, worker: Start, submit: Submit) -> None:  # noqa: F811
    worker()
    page = visit.open(f"/tasks/{submit('stubborn', {'seconds': 600})}")
    confirm(page, "Force stop", "Force stop")
    expect(page.locator("task-page .notice")).to_contain_text("A force-stop was requested")
    expect_actions(page, ["Copy as curl", "Copy as Python"])
    expect(page.locator(".receipt")).to_contain_text("how its process was replaced")
    expect_status(page, "canceled")


def test_a_dead_letter_is_repaired(
    visit: Visit,
    worker: Start,
    submit: Submit,  # noqa: F811
    check_page: CheckPage,
) -> None:
    worker()
    task_id = submit("media_generation", {"prompt_id": "nobody has stored it", "params": {"steps": 1, "width": 256}})
    page = visit.open(f"/tasks/{task_id}")
    expect(page.locator("task-page .problem")).to_contain_text("There is no prompt")
    expect(page.locator(".attempts summary", has_text="Traceback")).to_be_visible()
    expect(page.locator(".attempts pre")).not_to_be_visible()
    check_page(page, "task-dead")
    page.get_by_role("button", name="Edit and retry").click()
    dialog = page.get_by_role("dialog")
    editor = dialog.get_by_role("textbox", name="Payload")
    send = dialog.get_by_role("button", name="Retry with this payload")

    editor.fill(editor.input_value().replace('"width": 256', '"width": 256000'))
    send.click()
    expect(dialog.get_by_role("alert")).to_contain_text("params.width: ")
    typed = editor.input_value()
    [line] = [number for number, text in enumerate(typed.split("\n")) if "256000" in text]
    mark = dialog.locator(".json-editor > i")
    assert mark.evaluate("mark => parseFloat(mark.style.top)") == 8 + 18 * line
    check_page(page, "task-edit")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Edit and retry").click()
    expect(editor).to_have_value(typed)

    editor.fill('{"prompt": "a lighthouse",}')
    send.click()
    expect(dialog.get_by_role("alert")).to_contain_text("Line 1")
    editor.fill('{"prompt": "a lighthouse", "params": {"steps": 1, "step_seconds": 0, "width": 64}}')
    send.click()
    expect(page.get_by_role("img", name="a lighthouse")).to_be_visible()
    expect_status(page, "completed")
    page.get_by_role("button", name="payload", exact=True).click()
    expect(page.locator(".history .timeline")).to_contain_text("payload edited")


def test_large_integers_and_markup_stay_what_they_are(visit: Visit, worker: Start, submit: Submit) -> None:  # noqa: F811
    worker()
    task_id = submit("remember", {"text": MARKUP, "value": {MARKUP: BIG}}, max_attempts=1)
    page = visit.open(f"/tasks/{task_id}")
    expect_status(page, "dead")
    payload = page.locator(".payload .json")
    expect(payload).to_contain_text(str(BIG))
    expect(payload).to_contain_text("<img src=x onerror=alert(1)>")
    page.get_by_role("button", name="Edit and retry").click()
    editor = page.get_by_role("textbox", name="Payload")
    assert str(BIG) in editor.input_value()
    editor.fill(editor.input_value().replace(str(BIG), str(BIG + 2)))
    page.get_by_role("button", name="Retry with this payload").click()
    expect(payload).to_contain_text(str(BIG + 2))  # it has failed again, with the new payload
    expect_status(page, "dead")
    page.get_by_role("button", name="Retry", exact=True).click()
    expect_status(page, "completed")
    expect(page.locator(".result .json")).to_contain_text(str(BIG + 2))
    assert page.locator("main img").count() == 0


def test_copies_submit_the_same_work(visit: Visit, submit: Submit, server: ServerProcess) -> None:  # noqa: F811
    _, secret = create_key("web", "operator", tenant="acme")
    eventually(lambda: is_key_known(server, secret))
    body = {"text": MARKUP, "value": {"big": BIG, "list": [None, True, 1.5, {}, []], MARKUP: "x" * 200_000}}
    asked = {"actor": "note", "payload": body, "priority": 1, "target": "car/17"}
    first = server.call("POST", "/tasks", asked, key=secret)
    visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = open_with_key(visit, secret, f"/tasks/{first['task_id']}")
    environment = {**os.environ, "CALLBOARD_KEY": secret}
    for name, command in (("Copy as curl", ["bash"]), ("Copy as Python", [sys.executable])):
        page.get_by_role("button", name=name).click()
        expect(page.get_by_text(f"{name}: copied.")).to_be_visible()
        text = page.evaluate("() => navigator.clipboard.readText()")
        assert secret not in text
        run = subprocess.run(command, input=text, env=environment, capture_output=True, text=True, timeout=60)
        assert run.returncode == 0, run.stderr
    newest = server.call("GET", "/tasks?limit=2", key=secret)["items"]
    same = ("actor", "queue", "priority", "tenant", "target")
    for item in newest:
        task = server.call("GET", f"/tasks/{item['task_id']}", key=secret)
        assert task["task_id"] != first["task_id"]
        assert [task[name] for name in same] == [first[name] for name in same]
        assert task["payload"] == first["payload"]


def test_what_a_key_may_not_do_is_not_there(visit: Visit, worker: Start, server: ServerProcess) -> None:  # noqa: F811
    worker()
    keys = {name: create_key(name, role, tenant=tenant)[1] for name, role, tenant in KEYS}
    eventually(lambda: is_key_known(server, keys["nobody"]))
    asked: dict[str, Any] = {"actor": "fail", "payload": {"text": "no"}, "max_attempts": 1, "tenant": "acme"}
    task_id = server.call("POST", "/tasks", asked, key=keys["root"])["task_id"]
    page = open_with_key(visit, keys["reader"], f"/tasks/{task_id}")
    expect(page.locator("task-page .problem")).to_contain_text("RuntimeError")
    expect(page.locator(".attempts .error")).to_be_visible()
    expect_actions(page, [])
    expect(page.locator("summary", has_text="Traceback")).to_have_count(0)
    page = open_with_key(visit, keys["submitter"], f"/tasks/{task_id}")
    expect_actions(page, ["Retry", "Edit and retry", "Dismiss", "Remove", "Copy as curl", "Copy as Python"])
    confirm(page, "Dismiss", "Dismiss")
    expect_status(page, "canceled")
    page = open_with_key(visit, keys["nobody"], f"/tasks/{task_id}")
    expect(page.get_by_text("There is no such task.")).to_be_visible()


KEYS: tuple[tuple[str, Any, str | None], ...] = (
    ("root", "operator", None),
    ("reader", "reader", "acme"),
    ("submitter", "submitter", "acme"),
    ("nobody", "operator", "another"),
)


def is_key_known(server: ServerProcess, secret: str) -> bool:  # noqa: F811
    try:
        server.call("GET", "/caller", key=secret)
    except AssertionError:
        return False
    return True


def open_with_key(visit: Visit, secret: str, address: str) -> Page:
    visit.page.goto(visit.url)
    visit.page.evaluate("key => sessionStorage.setItem('callboard-key', key)", secret)
    visit.page.reload()
    return visit.open(address)
