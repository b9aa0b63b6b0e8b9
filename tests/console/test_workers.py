"""Workers: what each runs, its pulse, its places, and its end."""

import signal
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from state.workers.identity import Identity
from state.workers.registry import list_workers, register
from tests.console.browser import Visit
from tests.console.server import ServerProcess
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.support.workers import TEST_ACTORS, WorkerTree

Start = Callable[..., WorkerTree]
CheckPage = Callable[[Page, str], None]


@pytest.fixture
def server(serve: Callable[..., ServerProcess]) -> ServerProcess:
    return serve(actors=TEST_ACTORS)


@pytest.fixture
def start(worker: Start) -> Start:
    return partial(worker, actors=TEST_ACTORS)


def cards(page: Page) -> Locator:
    return page.locator(".worker-card")


def submit(server: ServerProcess, count: int, actor: str, payload: dict[str, Any]) -> list[str]:
    tasks = [{"actor": actor, "payload": payload}] * count
    return [each["task_id"] for each in server.call("POST", "/tasks/batch", {"tasks": tasks})["items"]]


def test_they_come_run_and_go(visit: Visit, server: ServerProcess, start: Start, check_page: CheckPage) -> None:
    ids = submit(server, 7, "steps", {"seconds": 60})
    page = visit.open("/workers")
    expect(page.get_by_text("No worker is running.")).to_be_visible()
    expect(page.get_by_text("7 tasks cannot start.")).to_be_visible()
    check_page(page, "workers-none")
    tree = start(threads=8)
    card = cards(page)
    expect(card).to_have_count(1)
    expect(card).to_contain_text("7 / 8")
    expect(card).to_contain_text("maintainer")
    expect(card.get_by_role("img", name="7 of 8 threads")).to_be_visible()
    expect(card.locator("tbody tr")).to_have_count(5)
    card.get_by_role("button", name="Show 2 more tasks").click()
    expect(card.locator("tbody tr")).to_have_count(7)
    assert {link.get_attribute("href") for link in card.locator("tbody a").all()} == {f"#/tasks/{each}" for each in ids}
    check_page(page, "workers")
    server.call("POST", f"/tasks/{ids[0]}/cancel")
    expect(card.locator("tbody tr")).to_have_count(6)
    tree.terminate()  # it hands over what it runs, or finishes it
    expect(card.get_by_text("shutting down").or_(page.get_by_text("No worker is running."))).to_be_visible()
    expect(page.get_by_text("No worker is running.")).to_be_visible(timeout=90_000)


def test_a_worker_without_a_pulse(
    visit: Visit, server: ServerProcess, start: Start, connection: Observer, check_page: CheckPage
) -> None:
    tree = start(threads=2)
    page = visit.open("/workers")
    expect(cards(page)).to_contain_text("just now")
    tree.signal_all(signal.SIGSTOP)
    expect(cards(page).get_by_text("s ago")).to_be_visible()
    connection.execute("UPDATE callboard.workers SET seen_at = seen_at - interval '1 hour'")
    expect(cards(page).get_by_text("lost")).to_be_visible()
    check_page(page, "workers-lost")
    tree.kill()
    eventually(lambda: len(list_workers()) == 1)


def test_many_and_odd_ones(visit: Visit, check_page: CheckPage) -> None:
    for n in range(60):
        host = "<img src=x onerror=alert(1)>" if n == 0 else f"node-{n:02}.{'long-' * 12}name.example"
        identity = Identity(f"{host}:{n}", host, "boot", "namespace", n, None)
        register(identity, ["agents", "x" * 120] if n == 1 else ["agents"], 200 if n == 2 else 8, coroutines=100)
    page = visit.open("/workers")
    expect(cards(page)).to_have_count(60)
    expect(page.locator(".head")).to_contain_text("60 processes on 60 hosts")
    expect(cards(page).filter(has_text="<img src=x")).to_have_count(1)
    expect(cards(page).locator("img")).to_have_count(0)
    check_page(page, "workers-many")
