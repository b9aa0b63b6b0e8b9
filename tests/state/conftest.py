"""For tests of the state store: a catalog of simple actors, a worker's connection, and builders of tasks."""

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql

from state.database import Connection, connect
from state.gates import Gate
from state.tasks import catalog
from state.tasks.catalog import STANDARD_POLICY, ActorSpec
from tests.support.builders import TaskBuilder
from tests.support.claims import Claimer, FreePayload, enter_simple_actors, read_status
from tests.support.observer import Observer


@pytest.fixture(autouse=True)
def actors(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    enter_simple_actors(monkeypatch, FreePayload)


@pytest.fixture
def worker_connection(database_url: str) -> Iterator[Connection]:
    """A connection like those of a worker's dispatcher and reporter."""
    with connect("test") as connection:
        yield connection


@pytest.fixture
def take(worker_connection: Connection) -> Claimer:
    """Claims like a worker with so many free threads."""
    return Claimer(worker_connection)


@pytest.fixture
def make_task(worker_connection: Connection, connection: Observer) -> TaskBuilder:
    """Makes a task in any status."""
    return TaskBuilder(worker_connection, connection)


@pytest.fixture
def status(connection: Observer) -> Callable[[str], str]:
    return lambda task_id: read_status(connection, task_id)


@pytest.fixture
def gated(actors: None) -> None:
    """Registers an actor whose payload names its gates: {"gates": {"a": 1}}."""

    def name_gates(request: Any) -> list[Gate]:
        return [Gate(key, limit) for key, limit in request.gates.items()]

    catalog.register(ActorSpec("gated", "one", FreePayload, 3, lambda: None, 60, STANDARD_POLICY, "", name_gates))


@pytest.fixture
def read_only(connection: Observer) -> Iterator[Callable[[bool], None]]:
    """Makes every new session of this database read-only, as after a failover to a standby."""
    name = sql.Identifier(connection.info.dbname)

    def switch(on: bool) -> None:
        value = sql.SQL("on" if on else "off")
        command = sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = {}").format(name, value)
        with psycopg.connect(connection.info.dsn, autocommit=True) as session:
            session.execute("SET default_transaction_read_only = off")
            session.execute(command)

    yield switch
    switch(False)
