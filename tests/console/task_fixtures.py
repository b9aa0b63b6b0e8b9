"""What the tests of a task's page begin with: a server that knows the actors of the tests, and tasks."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.console.server import ServerProcess
from tests.providers.conftest import _running_chat, chat_server
from tests.support.workers import TEST_ACTORS, WorkerTree

Start = Callable[..., WorkerTree]
Submit = Callable[..., str]

__all__ = ["Start", "Submit", "_running_chat", "chat_server", "server", "submit"]


@pytest.fixture
def server(serve: Callable[..., ServerProcess]) -> ServerProcess:
    return serve(actors=TEST_ACTORS)


@pytest.fixture
def submit(server: ServerProcess) -> Submit:
    """Submits a task; returns its id."""

    def submit(actor: str, payload: dict[str, Any], **options: Any) -> str:
        task_id: str = server.call("POST", "/tasks", {"actor": actor, "payload": payload, **options})["task_id"]
        return task_id

    return submit
