"""Real workers, real servers for the remote protocols, real Postgres."""

import hashlib
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import actors  # noqa: F401  (declares the actors)
from tests.providers.conftest import (  # noqa: F401
    _clean_environment,
    _running_chat,
    _running_leonardo,
    _running_midjourney,
    chat_server,
    image,
    leonardo_server,
    midjourney_server,
)
from tests.support.workers import WorkerTree

Start = Callable[..., WorkerTree]


@pytest.fixture
def start(worker: Start) -> Start:
    return partial(worker, actors="actors,tests.actors.quickpolls")


@pytest.fixture
def trusted(leonardo_server, midjourney_server, monkeypatch) -> None:  # noqa: F811
    """Trusts the servers, whose outputs come by http from loopback."""
    hosts = ",".join(f"127.0.0.1:{server.port}" for server in (leonardo_server, midjourney_server))
    monkeypatch.setenv("CALLBOARD_DOWNLOAD_TRUSTED_HOSTS", hosts)


@pytest.fixture
def checkpoint(connection) -> Callable[[str], dict]:
    def read(task_id: str) -> dict:
        row = connection.execute("SELECT checkpoint FROM callboard.tasks WHERE id = %s", [task_id]).fetchone()
        return json.loads(json.dumps(row["checkpoint"]))

    return read


@pytest.fixture
def nothing_partial(tmp_path: Path, database_url: str) -> Callable[[], None]:
    """Returns a check that every file of the store is whole, and that no temporary files are left."""

    def check() -> None:
        for file in (tmp_path / "contents").rglob("*"):
            if file.is_file():
                assert hashlib.sha256(file.read_bytes()).hexdigest() == file.name
        assert list((tmp_path / "tmp").iterdir()) == []

    return check
