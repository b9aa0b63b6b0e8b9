"""Shared by tests of the worker's verbs: a catalog of simple actors, claims like a worker's, and an error."""

from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import BaseModel

from state.database import Connection
from state.tasks import catalog
from state.tasks.catalog import STANDARD_POLICY, ActorSpec
from state.workers.leases import Claimed, ClaimRequest, claim
from tests.support.observer import Observer

BOOM: dict[str, Any] = {"type": "Boom", "message": "no luck", "category": "unknown", "details": {}, "traceback": None}


class AnyPayload(BaseModel, extra="allow"):
    size: int = 1


class FreePayload(BaseModel, extra="allow"):
    """Adds nothing to a payload."""


def enter_simple_actors(monkeypatch: pytest.MonkeyPatch, request: type[BaseModel] = AnyPayload) -> None:
    """Makes `quick` (queue one) and `slow` (queue two) the only actors."""
    monkeypatch.setattr(catalog, "_actors", {})
    for name, queue in (("quick", "one"), ("slow", "two")):
        catalog.register(ActorSpec(name, queue, request, 3, lambda: None, 60, STANDARD_POLICY, ""))


class Claimer:
    """Claims like a worker process. Each call has the next claim number."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._claims = 0

    def __call__(
        self,
        free: int = 1,
        worker: str = "w1",
        connection: Connection | None = None,
        queues: Sequence[str] = ("one", "two"),
        **options: Any,
    ) -> list[Claimed]:
        """Claims for so many free threads. `options` are further fields of ClaimRequest."""
        self._claims += 1
        request = ClaimRequest(
            worker=worker,
            claim_number=self._claims,
            thread_queues=queues,
            coroutine_queues=options.get("coroutine_queues", []),
            threads=free,
            coroutines=options.get("coroutines", 0),
            ahead=options.get("ahead", 0),
            short_actors=options.get("short_actors", []),
            known_actors=options.get("known_actors"),
            retry_share=options.get("retry_share", 0.3),
            sync_actors=options.get("sync_actors", ()),
            async_actors=options.get("async_actors", ()),
        )
        return claim(connection or self._connection, request).tasks


def read_status(connection: Observer, task_id: str) -> str:
    """Returns the status in the table, without any code of Callboard."""
    return str(connection.fetch_one("SELECT status FROM callboard.tasks WHERE id = %s", [task_id])["status"])
