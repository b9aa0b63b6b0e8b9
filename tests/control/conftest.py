"""For tests of the verbs alone: a catalog of simple actors, and a worker's connection."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from state import submit
from state.database import Connection, connect
from state.workers import leases
from state.workers.leases import Claimed, Settlement
from tests.support.claims import BOOM, Claimer, enter_simple_actors, read_status
from tests.support.observer import Observer


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


@pytest.fixture
def status(connection: Observer) -> Callable[[str], str]:
    return lambda task_id: read_status(connection, task_id)


@pytest.fixture
def running(simple_actors: None, take: Claimer) -> Callable[..., Claimed]:
    def running(**options: Any) -> Claimed:
        submit("quick", options.pop("payload", {}), **options)
        [claimed] = take()
        return claimed

    return running


@pytest.fixture
def dead(running: Callable[..., Claimed], worker_connection: Connection) -> Callable[..., Claimed]:
    def dead(error_type: str = "Boom", **options: Any) -> Claimed:
        claimed = running(**options)
        end = Settlement(claimed.id, claimed.epoch, "failed", error={**BOOM, "type": error_type})
        leases.settle(worker_connection, "w1", [end])
        return claimed

    return dead


@pytest.fixture
def put(connection: Observer) -> Callable[[str, str], None]:
    """Puts a task into any status, without the guard: only a test may do that."""

    def put(task_id: str, status: str) -> None:
        with connection.transaction():
            connection.execute("ALTER TABLE callboard.tasks DISABLE TRIGGER guard_moves")
            connection.execute("UPDATE callboard.tasks SET status = %s WHERE id = %s", [status, task_id])
            connection.execute("ALTER TABLE callboard.tasks ENABLE TRIGGER guard_moves")

    return put
