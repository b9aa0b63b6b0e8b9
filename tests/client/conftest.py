"""A real server, with a fake worker, and both clients with the same interface."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import anyio.from_thread
import pytest

from state.database import connect
from state.tasks import catalog
from taskclient import AsyncClient, Client
from tests.taskapi.actors import StrictPayload, declare_actor
from tests.taskapi.fake_worker import FakeWorker
from tests.taskapi.running import RunningServer

Connect = Callable[..., Any]


@pytest.fixture
def actors(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "_actors", dict(catalog._actors))
    catalog.load_actors()
    declare_actor("anything", "stage")
    declare_actor("strict", "other", StrictPayload)


@pytest.fixture
def server(actors: None) -> Iterator[RunningServer]:
    with RunningServer() as running:
        yield running


@pytest.fixture
def fake_worker(actors: None) -> Iterator[FakeWorker]:
    with connect("fake worker") as connection:
        yield FakeWorker(connection)


class Blocking:
    """An AsyncClient on an event loop of its own, used as if it were a Client."""

    def __init__(self, client: AsyncClient, portal: anyio.from_thread.BlockingPortal) -> None:
        self._client = client
        self._portal = portal

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._client, name)

        def call(*args: Any, **options: Any) -> Any:
            if name in ("submit_many", "list", "stream", "events", "pages", "follow", "export"):
                return self._iterate(method(*args, **options))
            return self._portal.call(lambda: method(*args, **options))

        return call

    def _iterate(self, values: Any) -> Iterator[Any]:
        try:
            while (value := self._portal.call(anext, values, None)) is not None:
                yield value
        finally:
            self._portal.call(values.aclose)


@pytest.fixture(params=["sync", "async"])
def connect_to(request: pytest.FixtureRequest) -> Iterator[Connect]:
    """Makes a client of this kind."""
    with ExitStack() as stack:
        if request.param == "sync":
            yield lambda url, **options: stack.enter_context(Client(url, **options))
            return
        portal = stack.enter_context(anyio.from_thread.start_blocking_portal())

        def open_client(url: str, **options: Any) -> Blocking:
            client = AsyncClient(url, **options)
            stack.callback(lambda: portal.call(client.close))
            return Blocking(client, portal)

        yield open_client


@pytest.fixture
def client(connect_to: Connect, server: RunningServer) -> Any:
    return connect_to(server.url)
