"""An application in this process, and keys for it."""

from collections.abc import Callable, Iterator

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from state.access.caller import Role
from state.access.keys import create_key
from state.tasks import catalog
from taskapi import create_app
from taskapi.access.control import AccessControl
from tests.taskapi.actors import declare_actor

LOCAL = {"base_url": "http://127.0.0.1:8000", "client": ("127.0.0.1", 50000)}
"""How a program of this machine reaches the application."""

MakeKey = Callable[..., dict[str, str]]


@pytest.fixture(autouse=True)
def actors(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog.load_actors()
    monkeypatch.setattr(catalog, "_actors", dict(catalog._actors))
    declare_actor("anything", "stage")


@pytest.fixture
def client(actors: None) -> Iterator[TestClient]:
    with TestClient(create_app(), **LOCAL) as client:  # type: ignore[arg-type]
        yield client


@pytest.fixture
def make_key(database_url: str) -> MakeKey:
    """Creates a key, and returns the headers that show it."""

    def make_key(role: Role = "reader", tenant: str | None = None, rate_limit: int | None = None) -> dict[str, str]:
        _, key = create_key(f"{role} of {tenant}", role, tenant=tenant, rate_limit=rate_limit)
        return {"Authorization": f"Bearer {key}"}

    return make_key


def forget_keys(client: TestClient) -> None:
    """As if seconds had passed since the keys were read."""
    assert isinstance(client.app, Starlette)
    access: AccessControl = client.app.state.access
    access.keyring.expire()
