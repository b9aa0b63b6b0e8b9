"""Tasks with webhooks, receivers on this machine, and deliveries that run in this process."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx2
import pytest

from actors.webhook import WebhookRequest, list_gates, webhook
from broker.execution import outcomes
from broker.testing import run_actor
from state import Task, get_task, submit
from state.database import Connection, connect
from state.gates.declarations import declare_unseen
from state.maintenance.sweep import sweep_due, sweep_expired
from state.settings import get_settings
from state.tasks import catalog
from state.workers import leases
from state.workers.leases import Claimed, Settlement
from tests.support.claims import BOOM, AnyPayload, Claimer
from tests.support.clock import Clock
from tests.taskapi.running import RunningServer
from tests.webhooks.receiver import Receiver


@pytest.fixture(autouse=True)
def actors(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog.load_actors()
    monkeypatch.setattr(catalog, "_actors", dict(catalog._actors))
    policy = catalog.STANDARD_POLICY
    catalog.register(catalog.ActorSpec("quick", "one", AnyPayload, 2, lambda: None, 60, policy, ""))


@pytest.fixture
def allow(database_url: str) -> Callable[..., None]:
    """Lets deliveries go to these hosts, and sets how long they may take. The settings end with the database."""

    def allow(*hosts: str, seconds: float = 15) -> None:
        os.environ["CALLBOARD_WEBHOOK_HOSTS"] = ",".join(hosts)
        os.environ["CALLBOARD_WEBHOOK_SECONDS"] = str(seconds)
        get_settings.cache_clear()

    return allow


@pytest.fixture
def receivers(allow: Callable[..., None]) -> Iterator[Callable[..., Receiver]]:
    """Starts a receiver that deliveries may go to."""
    started: list[Receiver] = []
    with ExitStack() as stack:

        def start(seconds: float = 15) -> Receiver:
            started.append(stack.enter_context(Receiver()))
            allow(*(each.host for each in started), seconds=seconds)
            return started[-1]

        yield start


@pytest.fixture
def receiver(receivers: Callable[..., Receiver]) -> Receiver:
    return receivers()


class Board:
    """Moves tasks, and runs their deliveries in this process: claimed and settled as a worker does."""

    def __init__(self, connection: Connection, clock: Clock) -> None:
        self.connection = connection
        self.clock = clock
        self._claim = Claimer(connection)

    def run(
        self,
        task: Task,
        outcome: str = "completed",
        result: Any = None,
        retry_seconds: float | None = None,
        queue: str = "one",
    ) -> Task:
        [claimed] = self.claim(queue)
        assert claimed.id == task.task_id
        if outcome == "completed":
            end = Settlement(claimed.id, claimed.epoch, "completed", result=result)
        else:
            end = Settlement(claimed.id, claimed.epoch, "failed", error=BOOM, retry_seconds=retry_seconds)
        leases.settle(self.connection, "w1", [end])
        return get_task(task.task_id)

    def complete(self, url: str | None, result: Any = None, **options: Any) -> Task:
        """Returns a completed task that was submitted with this webhook."""
        return self.run(submit("quick", {}, webhook_url=url, **options), result=result)

    def claim(self, queue: str, free: int = 1) -> list[Claimed]:
        return self._claim(free, queues=[queue])

    def deliver(self) -> list[Task]:
        """Runs all deliveries that can start now, one after the other, and returns them."""
        delivered = []
        while claimed := self.claim("webhooks"):
            leases.settle(self.connection, "w1", [self._run(claimed[0])])
            delivered.append(get_task(claimed[0].id))
        return delivered

    def deliver_one(self) -> Task:
        [task] = self.deliver()
        return task

    def retry_later(self) -> Task:
        """Moves the clock to the next attempt of the only delivery that waits for one, and runs it."""
        [row] = self.read(
            "SELECT available_at - callboard.now() AS wait FROM callboard.tasks WHERE status = 'scheduled'"
        )
        self.clock.advance(row["wait"].total_seconds() + 1)
        self.sweep()
        return self.deliver_one()

    def sweep(self) -> None:
        sweep_due()
        sweep_expired()

    def _run(self, claimed: Claimed) -> Settlement:
        declare_unseen(list_gates(WebhookRequest.model_validate(claimed.payload)))
        try:
            run = run_actor(webhook, claimed.payload, attempt=claimed.attempt, tenant=claimed.tenant)
        except Exception as failure:
            return outcomes.failed(claimed, failure)
        return outcomes.completed(claimed, run.result)

    def read(self, query: str) -> list[dict[str, Any]]:
        return self.connection.execute(query).fetchall()


@pytest.fixture
def board(actors: None, clock: Clock) -> Iterator[Board]:
    with connect("worker") as connection:
        yield Board(connection, clock)


@pytest.fixture
def client(actors: None) -> Iterator[httpx2.Client]:
    with RunningServer() as server:
        yield server.client
