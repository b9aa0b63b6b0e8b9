"""Actors for tests that need no worker: the catalog is all that submit asks."""

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql
from pydantic import BaseModel

from state.database.connection import Connection
from state.database.pool import get_database
from state.gates import Gate
from state.tasks import catalog
from state.tasks.catalog import STANDARD_POLICY, ActorSpec
from state.workers.leases import Claimed, ClaimRequest, claim


class AnyPayload(BaseModel, extra="allow"):
    pass


@pytest.fixture(autouse=True)
def actors(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "_actors", {})
    for name, queue in (("quick", "one"), ("slow", "two")):
        catalog.enter(ActorSpec(name, queue, AnyPayload, 3, lambda: None, 60, STANDARD_POLICY, ""))


@pytest.fixture
def desk(database_url: str) -> Iterator[Connection]:
    """The connection of a worker's desk."""
    with get_database().connect("test") as connection:
        yield connection


@pytest.fixture
def take(desk: Connection) -> Callable[..., list[Claimed]]:
    """Claims like a worker with so many free threads."""
    count = 0

    def take(free: int = 1, worker: str = "w1", connection: Connection | None = None, **options: Any) -> list[Claimed]:
        nonlocal count
        count += 1
        request = ClaimRequest(
            worker=worker,
            claim_number=count,
            thread_queues=options.get("queues", ["one", "two"]),
            coroutine_queues=options.get("coroutine_queues", []),
            threads=free,
            coroutines=options.get("coroutines", 0),
            ahead=options.get("ahead", 0),
            short_actors=options.get("short_actors", []),
            known_actors=options.get("known_actors"),
            retry_share=options.get("retry_share", 0.3),
        )
        return claim(connection or desk, request).tasks

    return take


@pytest.fixture
def status(connection: psycopg.Connection) -> Callable[[str], str]:
    """As Postgres says, past all our code."""

    def status(task_id: str) -> str:
        row = connection.execute("SELECT status FROM callboard.tasks WHERE id = %s", [task_id]).fetchone()
        assert row is not None
        return row["status"]

    return status


@pytest.fixture
def gated(actors: None) -> None:
    """An actor whose payload names its gates: {"gates": {"a": 1}}."""

    def gates_of(request: Any) -> list[Gate]:
        return [Gate(key, limit) for key, limit in request.gates.items()]

    catalog.enter(ActorSpec("gated", "one", AnyPayload, 3, lambda: None, 60, STANDARD_POLICY, "", gates_of))


@pytest.fixture
def read_only(connection: psycopg.Connection) -> Iterator[Callable[[bool], None]]:
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
