"""Each test has a server of its own, an actor that accepts any payload, a strict actor, and a fake worker."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx2
import pytest

from state.database import connect
from state.tasks import catalog
from taskapi.guard.connections import Connection
from taskapi.streams.feed import Pace
from tests.support.observer import Observer
from tests.taskapi.actors import StrictPayload, declare_actor
from tests.taskapi.fake_worker import FakeWorker
from tests.taskapi.running import RunningServer


@pytest.fixture(autouse=True)
def actors(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog.load_actors()
    monkeypatch.setattr(catalog, "_actors", dict(catalog._actors))
    declare_actor("anything", "stage")
    declare_actor("strict", "other", StrictPayload)


@pytest.fixture
def serve(actors: None) -> Iterator[Callable[..., RunningServer]]:
    """Starts a server with a pace of its own, and a protocol and an event loop if not those of `callboard up`."""
    with ExitStack() as stack:

        def serve(*, http: Any = Connection, loop: Any = "auto", **pace: Any) -> RunningServer:
            return stack.enter_context(RunningServer(Pace(**pace), http, loop))

        yield serve


@pytest.fixture
def server(serve: Callable[..., RunningServer]) -> RunningServer:
    return serve()


@pytest.fixture
def client(server: RunningServer) -> httpx2.Client:
    return server.client


@pytest.fixture
def fake_worker(actors: None) -> Iterator[FakeWorker]:
    with connect("fake worker") as connection:
        yield FakeWorker(connection)


@pytest.fixture
def submit(client: httpx2.Client) -> Callable[..., dict[str, Any]]:
    def submit(actor: str = "anything", payload: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        response = client.post("/api/v1/tasks", json={"actor": actor, "payload": payload or {}, **options})
        assert response.status_code == 202, response.text
        task: dict[str, Any] = response.json()
        return task

    return submit


@pytest.fixture
def rows(connection: Observer) -> Callable[[], dict[str, int]]:
    """Counts the rows of the tables that a submission writes, with a connection of its own."""

    def rows() -> dict[str, int]:
        tables = ("tasks", "events", "idempotency")
        return {table: connection.fetch_one(f"SELECT count(*) AS n FROM callboard.{table}")["n"] for table in tables}

    return rows
