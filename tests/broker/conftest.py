"""For tests without a worker process: a worker's connection, and claims on it."""

from collections.abc import Iterator

import pytest

from state.database import Connection, connect
from tests.support.claims import Claimer, enter_simple_actors


@pytest.fixture
def simple_actors(monkeypatch: pytest.MonkeyPatch) -> None:
    enter_simple_actors(monkeypatch)


@pytest.fixture
def worker_connection(database_url: str) -> Iterator[Connection]:
    with connect("test") as connection:
        yield connection


@pytest.fixture
def take(worker_connection: Connection) -> Claimer:
    return Claimer(worker_connection)
