"""A real Postgres for the session, migrated once; each test gets a clone of it."""

import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from state.database import close_database
from state.database.notifier import flush_hints
from state.schema.migration import migrate
from state.settings import get_settings
from tests.support.clock import Clock
from tests.support.memory import find_memory_folder
from tests.support.observer import Observer
from tests.support.pgbouncer import BINARY, start_pgbouncer
from tests.support.postgres import TestPostgres
from tests.support.workers import WorkerTree


def pytest_configure() -> None:
    """A shell that starts the tests in the background makes them, and their processes, ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def postgres() -> Iterator[TestPostgres]:
    # Not in pytest's own folder: each start of pytest closes that to all others, and Postgres does not run as root.
    folders = tempfile.TemporaryDirectory(
        prefix="callboard-tests-", dir=find_memory_folder(), ignore_cleanup_errors=True
    )
    with folders as folder:
        server = TestPostgres(Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.stop()


@contextmanager
def settings_for(url: str, data_dir: Path) -> Iterator[None]:
    """Points this process, and every process started from it, at a database."""
    kept = dict(os.environ)
    os.environ.update({"CALLBOARD_DATABASE_URL": url, "CALLBOARD_DATA_DIR": str(data_dir)})
    get_settings.cache_clear()
    try:
        yield
    finally:
        flush_hints()
        close_database()
        os.environ.clear()
        os.environ.update(kept)
        get_settings.cache_clear()


@pytest.fixture(scope="session")
def template(postgres: TestPostgres, tmp_path_factory: pytest.TempPathFactory) -> str:
    name = "callboard_template"
    postgres.execute(f"CREATE DATABASE {name}")
    with settings_for(postgres.url(name), tmp_path_factory.mktemp("template")):
        migrate()
    return name


@pytest.fixture
def database_url(postgres: TestPostgres, template: str, tmp_path: Path) -> Iterator[str]:
    """A fresh, migrated database; the settings of this process and its children name it."""
    name = f"test_{uuid4().hex[:12]}"
    postgres.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
    try:
        with settings_for(postgres.url(name), tmp_path):
            yield postgres.url(name)
    finally:
        postgres.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def connection(database_url: str) -> Iterator[Observer]:
    """For a look from outside, in autocommit."""
    with Observer.open(database_url) as opened:
        yield opened


@pytest.fixture
def clock(connection: Observer) -> Clock:
    return Clock(connection)


@pytest.fixture
def pgbouncer(database_url: str) -> Iterator[str]:
    """This process, and those started from it, go through PgBouncer, and to Postgres itself only where they must."""
    if BINARY is None:
        pytest.skip("there is no pgbouncer (Debian, Ubuntu: apt install pgbouncer)")
    with start_pgbouncer(database_url) as url:
        os.environ.update({"CALLBOARD_DATABASE_URL": url, "CALLBOARD_DIRECT_URL": database_url})
        get_settings.cache_clear()
        yield url
        flush_hints()
        close_database()


@pytest.fixture
def worker(database_url: str, tmp_path: Path) -> Iterator[Callable[..., WorkerTree]]:
    """Starts real `dramatiq actors` process trees; ends all of them after the test."""
    started: list[WorkerTree] = []

    def start(**options: object) -> WorkerTree:
        tree = WorkerTree(tmp_path / f"worker-{len(started)}.log", **options)  # type: ignore[arg-type]
        started.append(tree)
        return tree.wait_ready()

    try:
        yield start
    finally:
        for tree in started:
            tree.kill()
