"""For tests of the verbs alone: a catalog of simple actors, and a worker's connection."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from pydantic import BaseModel

from state import submit
from state.database.connection import Connection
from state.tasks import catalog
from state.tasks.catalog import STANDARD_POLICY, ActorSpec
from state.workers import leases
from state.workers.leases import Claimed, Settlement
from tests.state.conftest import desk, status, take

__all__ = ["desk", "status", "take"]

BOOM = {"type": "Boom", "message": "no luck", "category": "unknown", "details": {}, "traceback": None}


class AnyPayload(BaseModel, extra="allow"):
    size: int = 1


@pytest.fixture
def simple_actors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "_actors", {})
    for name, queue in (("quick", "one"), ("slow", "two")):
        catalog.enter(ActorSpec(name, queue, AnyPayload, 3, lambda: None, 60, STANDARD_POLICY, ""))


@pytest.fixture
def running(simple_actors: None, take: Callable[..., list[Claimed]]) -> Callable[..., Claimed]:
    def running(**options: Any) -> Claimed:
        submit("quick", options.pop("payload", {}), **options)
        [claimed] = take()
        return claimed

    return running


@pytest.fixture
def dead(running: Callable[..., Claimed], desk: Connection) -> Callable[..., Claimed]:
    def dead(error_type: str = "Boom", **options: Any) -> Claimed:
        claimed = running(**options)
        leases.settle(desk, "w1", [Settlement(claimed.id, claimed.epoch, "failed", error={**BOOM, "type": error_type})])
        return claimed

    return dead


@pytest.fixture
def put(connection: psycopg.Connection) -> Callable[[str, str], None]:
    """Into any status, past the guard, as nothing but a test may."""

    def put(task_id: str, status: str) -> None:
        with connection.transaction():
            connection.execute("ALTER TABLE callboard.tasks DISABLE TRIGGER guard_moves")
            connection.execute("UPDATE callboard.tasks SET status = %s WHERE id = %s", [status, task_id])
            connection.execute("ALTER TABLE callboard.tasks ENABLE TRIGGER guard_moves")

    return put
