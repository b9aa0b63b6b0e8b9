"""The list of tasks: the filter, the live rows, and actions on many."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from state.database import Connection, connect
from state.tasks.catalog import load_actors
from tests.console.browser import Visit
from tests.support.builders import TaskBuilder
from tests.support.observer import Observer

SUMMARY = {"content": "A lighthouse stands at the coast. Ships see its light. " * 4}


@pytest.fixture
def worker_connection(database_url: str) -> Iterator[Connection]:
    load_actors()
    with connect("test") as connection:
        yield connection


@pytest.fixture
def make_task(worker_connection: Connection, connection: Observer) -> TaskBuilder:
    """Makes a task of our actors in any status."""
    return TaskBuilder(worker_connection, connection, queues=["language", "media", "agents"])


@pytest.fixture
def board(make_task: TaskBuilder) -> TaskBuilder:
    """A bit of everything."""
    for n, status in enumerate(("completed", "canceled", "scheduled", "queued", "running", "paused", "waiting")):
        make_task(status, actor="summarize", payload=SUMMARY, target=f"depot/{n}")  # type: ignore[arg-type]
    media = {"provider": "local", "prompt": "a lighthouse at dusk"}
    make_task("dead", actor="media_generation", payload=media, error_type="InvalidInput", tenant="acme")
    agent = {"agent_name": "text", "task_type": "statistics", "input": {"text": "One. Two."}}
    make_task("completed", actor="agent", payload=agent, tenant="acme")
    make_task("queued", actor="agent", payload=agent, tenant="globex")
    return make_task


def rows(page: Page) -> Any:
    return page.locator("tr.task")


def test_the_page(board: TaskBuilder, visit: Visit, check_page: Callable[[Page, str], None]) -> None:
    page = visit.open("/tasks")
    expect(rows(page)).to_have_count(11)
    check_page(page, "tasks")
    page.get_by_label("Filter tasks").fill("status:gone actor:summarize foo:bar")
    page.get_by_label("Filter tasks").press("Enter")
    expect(page.get_by_role("alert")).to_be_visible()
    check_page(page, "tasks-wrong-filter")
    page.get_by_label("Filter tasks").fill("actor:summarize st")
    expect(page.get_by_role("option")).not_to_have_count(0)
    check_page(page, "tasks-suggestions")


def test_no_tasks(visit: Visit, check_page: Callable[[Page, str], None]) -> None:
    page = visit.open("/tasks")
    expect(page.get_by_role("link", name="Submit the first")).to_be_visible()
    check_page(page, "tasks-empty")
