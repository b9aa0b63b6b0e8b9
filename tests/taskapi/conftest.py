"""A server for each test, an actor that takes anything, and somebody who plays the worker."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx2
import psycopg
import pytest
from pydantic import BaseModel, Field

from state.database.pool import get_database
from state.tasks import catalog
from state.tasks.catalog import STANDARD_POLICY, ActorSpec
from taskapi.feed import Pace
from tests.taskapi.player import Player
from tests.taskapi.running import RunningServer


class AnyPayload(BaseModel, extra="allow"):
    pass


class Limits(BaseModel, extra="forbid"):
    steps: int = Field(1, ge=1, le=10)


class StrictPayload(BaseModel, extra="forbid"):
    text: str
    limits: Limits = Limits()


@pytest.fixture(autouse=True)
def actors(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog.load_actors()
    monkeypatch.setattr(catalog, "_actors", dict(catalog._actors))
    for name, queue, model in (("anything", "stage", AnyPayload), ("strict", "other", StrictPayload)):
        catalog.enter(ActorSpec(name, queue, model, 3, lambda: None, 60, STANDARD_POLICY, "Only for tests."))


@pytest.fixture
def serve(actors: None) -> Iterator[Callable[..., RunningServer]]:
    """Starts servers that are not the usual one."""
    with ExitStack() as stack:
        yield lambda **pace: stack.enter_context(RunningServer(Pace(**pace)))


@pytest.fixture
def server(serve: Callable[..., RunningServer]) -> RunningServer:
    return serve()


@pytest.fixture
def client(server: RunningServer) -> httpx2.Client:
    return server.client


@pytest.fixture
def player(actors: None) -> Iterator[Player]:
    with get_database().connect("player") as connection:
        yield Player(connection)


@pytest.fixture
def submit(client: httpx2.Client) -> Callable[..., dict[str, Any]]:
    def submit(actor: str = "anything", payload: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        answer = client.post("/api/v1/tasks", json={"actor": actor, "payload": payload or {}, **options})
        assert answer.status_code == 202, answer.text
        task: dict[str, Any] = answer.json()
        return task

    return submit


@pytest.fixture
def rows(connection: psycopg.Connection) -> Callable[[], dict[str, int]]:
    """How many rows there are, past all our code."""

    def rows() -> dict[str, int]:
        tables = ("tasks", "events", "idempotency")
        return {
            table: connection.execute(f"SELECT count(*) AS n FROM callboard.{table}").fetchone()["n"]
            for table in tables
        }

    return rows


def problem(answer: httpx2.Response, status: int, token: str, **members: Any) -> dict[str, Any]:
    """Checks that an answer is a problem document, and this one."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    document: dict[str, Any] = answer.json()
    assert (answer.status_code, document["error"]) == (status, token), document
    assert document["type"] == f"/problems/{token}"
    assert document["status"] == status
    assert document["title"]
    assert document["detail"]
    assert {name: document.get(name) for name in members} == members, document
    return document
