"""Databases for tests: an embedded Postgres for the session, and an empty, migrated database for each test."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from state.database import close_database
from state.database.embedded import EmbeddedPostgres
from state.database.embedded.account import find_binaries
from state.database.embedded.postmaster import Postmaster
from state.database.notifier import flush_hints
from state.schema.migration import migrate
from state.settings import get_settings


class DatabaseServer:
    """An embedded Postgres with a migrated template. Each test gets a copy of the template."""

    template = "callboard_template"

    def __init__(self, folder: Path) -> None:
        self._server = EmbeddedPostgres(folder)
        self._main_url = self._server.url()
        self._data = folder / "postgres"
        self.create(self.template)

    def url(self, database: str) -> str:
        running = Postmaster.read(self._data)
        assert running is not None  # noqa: S101  (the server runs as long as this process uses it)
        return running.url("callboard_owner", database)

    def create(self, database: str, template: str | None = None) -> None:
        self._run("createdb", *(["--template", template] if template else []), database)

    def drop(self, database: str) -> None:
        self._run("dropdb", "--force", database)

    def stop(self) -> None:
        self._server.release()

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(find_binaries() / program), "--maintenance-db", self._main_url, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{program} failed: {done.stderr}")


@contextmanager
def _settings_for(url: str, data_dir: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("CALLBOARD_DATABASE_URL", url)
        environment.setenv("CALLBOARD_DATA_DIR", str(data_dir))
        environment.delenv("CALLBOARD_DIRECT_URL", raising=False)
        close_database()
        get_settings.cache_clear()
        try:
            yield
        finally:
            flush_hints()
            close_database()
    get_settings.cache_clear()


@pytest.fixture(scope="session")
def callboard_server() -> Iterator[DatabaseServer]:
    """Used by `callboard_database`: the server, started once for all tests."""
    # Not in pytest's own folder: Postgres may run as another user, and only the test's user can read that folder.
    with tempfile.TemporaryDirectory(prefix="callboard-testing-", ignore_cleanup_errors=True) as folder:
        server = DatabaseServer(Path(folder))
        try:
            with _settings_for(server.url(server.template), Path(folder)):
                migrate()
            yield server
        finally:
            server.stop()


@pytest.fixture
def callboard_database(callboard_server: DatabaseServer, tmp_path: Path) -> Iterator[str]:
    """The address of an empty, migrated database that the settings name while the test runs."""
    name = f"test_{uuid4().hex[:12]}"
    callboard_server.create(name, callboard_server.template)
    try:
        with _settings_for(callboard_server.url(name), tmp_path):
            yield callboard_server.url(name)
    finally:
        callboard_server.drop(name)
