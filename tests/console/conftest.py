"""The console as people use it: a real browser, a real server, real workers."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from state.database import Connection, connect
from state.settings import get_settings
from state.tasks.catalog import load_actors
from tests.console.browser import (
    CHROMIUM,
    NARROW,
    WIDE,
    Visit,
    find_barriers,
    show,
    start_chromium,
    take_screenshots,
    wait_for_layout,
)
from tests.console.server import ServerProcess
from tests.support.builders import TaskBuilder
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.support.workers import WorkerTree

SCREENSHOTS = Path(__file__).parents[2] / "build" / "console"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if CHROMIUM is None:
        skip = pytest.mark.skip(reason="there is no chromium (Debian, Ubuntu: apt install chromium)")
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(skip)


@pytest.fixture(scope="package")  # Playwright occupies the thread's event loop, which tests of other folders need
def chromium() -> Iterator[Browser]:
    with start_chromium() as browser:
        yield browser


@pytest.fixture
def serve(database_url: str, tmp_path: Path) -> Iterator[Callable[..., ServerProcess]]:
    """Starts a server process of its own: it can be killed and started again at the same port."""
    with ExitStack() as stack:

        def serve(**settings: object) -> ServerProcess:
            return stack.enter_context(ServerProcess(tmp_path / "server.log", **settings))

        yield serve


@pytest.fixture
def server(serve: Callable[..., ServerProcess]) -> ServerProcess:
    return serve()


@pytest.fixture
def start(worker: Callable[..., WorkerTree]) -> Callable[..., WorkerTree]:
    """Starts workers that know the same actors as the server."""
    return partial(worker, actors=os.environ.get("CALLBOARD_ACTORS", ",".join(get_settings().actors)))


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
def visit(chromium: Browser, server: ServerProcess) -> Iterator[Visit]:
    """A new visitor: no key, nothing stored. The test fails if a script fails, or a request leaves the origin."""
    context = chromium.new_context(viewport=WIDE, reduced_motion="reduce")  # type: ignore[arg-type]
    try:
        visit = Visit(context.new_page(), server.url)
        yield visit
        assert visit.errors == []
    finally:
        context.close()


@pytest.fixture
def check_page() -> Callable[[Page, str], None]:
    """Looks for barriers in both themes and on a narrow phone, and takes the pictures of the page."""

    def check(page: Page, name: str) -> None:
        take_screenshots(page, SCREENSHOTS, name)
        for theme, size in (("dark", WIDE), ("light", WIDE), ("light", NARROW)):
            page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
            page.set_viewport_size(size)  # type: ignore[arg-type]
            eventually(lambda: get_excess(page) <= 0, what=f"{name} fits into {size['width']} pixels")
            wait_for_layout(page)
            barriers = find_barriers(page)
            assert barriers == [], f"{name}, {theme}, {size['width']} pixels: {show(barriers)}"
        page.set_viewport_size(WIDE)  # type: ignore[arg-type]

    return check


def get_excess(page: Page) -> int:
    """Returns how many pixels the page is wider than its window."""
    wider: int = page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return wider


@pytest.fixture(autouse=True)
def nothing_is_wrong(database_url: str) -> Iterator[None]:
    """After each test, everything that must always hold does."""
    yield
    with Observer.open(database_url) as connection:  # a test may have restarted Postgres
        assert connection.execute("SELECT * FROM admin.invariants").fetchall() == []
