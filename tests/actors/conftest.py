"""Real workers, real servers for the remote protocols, real Postgres."""

import hashlib
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

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
from tests.providers.servers import LeonardoServer, MidjourneyServer
from tests.support.observer import Observer
from tests.support.workers import WorkerTree

Start = Callable[..., WorkerTree]
Checkpoint = Callable[[str], dict[str, Any]]  # of a task


@pytest.fixture
def start(worker: Start) -> Start:
    return partial(worker, actors="actors,tests.actors.quickpolls")


@pytest.fixture
def trusted(
    leonardo_server: LeonardoServer,  # noqa: F811
    midjourney_server: MidjourneyServer,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Trusts the servers, whose outputs come by http from loopback."""
    hosts = ",".join(f"127.0.0.1:{server.port}" for server in (leonardo_server, midjourney_server))
    monkeypatch.setenv("CALLBOARD_DOWNLOAD_TRUSTED_HOSTS", hosts)


@pytest.fixture
def checkpoint(connection: Observer) -> Checkpoint:
    def read(task_id: str) -> dict[str, Any]:
        row = connection.fetch_one("SELECT checkpoint FROM callboard.tasks WHERE id = %s", [task_id])
        checkpoint: dict[str, Any] = json.loads(json.dumps(row["checkpoint"]))
        return checkpoint

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
