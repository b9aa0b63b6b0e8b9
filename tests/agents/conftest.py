"""For tests of agents: the built-in actors, and a worker without processes."""

from collections.abc import Iterator

import pytest

import actors  # noqa: F401  (declares the actors)
from state.database import connect
from tests.agents.completing import AgentWorker
from tests.agents.remembered import FACTS, embed_all
from tests.providers.conftest import _clean_environment, _running_chat, chat_server  # noqa: F401
from tests.support.observer import Observer


@pytest.fixture
def agent_worker(database_url: str) -> Iterator[AgentWorker]:
    with connect("test") as connection:
        yield AgentWorker(connection)


@pytest.fixture
def memory(agent_worker: AgentWorker, connection: Observer) -> list[str]:
    """Three embedded events; returns their ids."""
    ids = [agent_worker.complete(fact) for fact in FACTS]
    embed_all(connection)
    return ids
