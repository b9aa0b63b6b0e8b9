"""A task's page: its life, its output as it comes, why it waits, its history, and what can be done with it."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser import Visit
from tests.console.server import ServerProcess
from tests.support.workers import TEST_ACTORS, WorkerTree

Start = Callable[..., WorkerTree]
CheckPage = Callable[[Page, str], None]


@pytest.fixture
def server(serve: Callable[..., ServerProcess]) -> ServerProcess:
    return serve(actors=TEST_ACTORS)


@pytest.fixture
def submit(server: ServerProcess) -> Callable[..., str]:
    def submit(actor: str, payload: dict[str, Any], **options: Any) -> str:
        task_id: str = server.call("POST", "/tasks", {"actor": actor, "payload": payload, **options})["task_id"]
        return task_id

    return submit


Submit = Callable[..., str]


def test_a_picture_appears(visit: Visit, worker: Start, submit: Submit, check_page: CheckPage) -> None:
    worker()
    params = {"steps": 30, "step_seconds": 0.1, "width": 256, "height": 256}
    task_id = submit("media_generation", {"prompt": "a <b>red</b> lighthouse", "params": params})
    page = visit.open(f"/tasks/{task_id}")
    expect(page.locator(".progress .meter")).to_be_visible()
    expect(page.locator(".head .chip")).to_have_text("running")
    page.reload()
    expect(page.locator(".head .chip")).to_have_text("running")
    picture = page.get_by_role("img", name="a <b>red</b> lighthouse")
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.complete && image.naturalWidth") == 256
    expect(page.locator(".head .chip")).to_have_text("completed")
    check_page(page, "task-media")
