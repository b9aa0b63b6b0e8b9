"""What the tests of the overview share: how they submit tasks, and where on the page they look."""

from typing import Any

from playwright.sync_api import Locator, Page

from tests.console.server import ServerProcess

MARKUP = "<img src=x onerror=alert(1)>"


def submit(server: ServerProcess, count: int, actor: str, payload: dict[str, Any], **options: Any) -> list[str]:
    tasks = [{"actor": actor, "payload": payload, **options}] * count
    return [each["task_id"] for each in server.call("POST", "/tasks/batch", {"tasks": tasks})["items"]]


def state(page: Page, name: str) -> Locator:
    """The number of tasks in a state of the flow."""
    return page.locator(f".state.s-{name} b")


def row(page: Page, table: str, text: str) -> Locator:
    return page.get_by_role("table", name=table).get_by_role("row").filter(has_text=text)


def trouble(page: Page) -> Locator:
    return page.locator(".trouble")
