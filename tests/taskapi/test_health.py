"""Health and readiness, also while the database is down."""

import tempfile
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from state.access.caller import Caller
from state.gates import Gate
from state.gates.declarations import declare
from state.schema.migration import migrate
from state.tasks.submission import submit as submit_task
from state.workers.identity import Identity
from state.workers.registry import mark_stopped, register
from taskapi.resources import health as resource
from tests.conftest import settings_for
from tests.support.clock import Clock
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.support.postgres import TestPostgres
from tests.taskapi.fake_worker import FakeWorker
from tests.taskapi.problems import expect_problem
from tests.taskapi.running import RunningServer

Submit = Callable[..., dict[str, Any]]


def health(client: httpx2.Client) -> dict[str, Any]:
    answer = client.get("/health")
    document: dict[str, Any] = answer.json()
    assert sorted(document) == ["components", "status", "timestamp"]
    assert sorted(document["components"]) == [
        "actors", "circuit_breakers", "consumption", "database", "recall", "workers",
    ]  # fmt: skip
    assert datetime.fromisoformat(document["timestamp"]).tzinfo is not None
    assert answer.status_code == (503 if document["status"] == "unhealthy" else 200)
    return document


def test_health_with_a_worker_and_without(client: httpx2.Client, clock: Clock) -> None:
    alone = health(client)
    assert alone["status"] == "degraded"
    assert alone["components"]["workers"] == {"status": "none", "alive": 0, "seconds_since_seen": None}
    assert alone["components"]["database"]["status"] == "ok"
    assert alone["components"]["database"]["latency_ms"] > 0
    assert alone["components"]["circuit_breakers"] == {}
    register(worker := Identity.of_this_process(), ["stage"], 8)
    well = health(client)
    assert (well["status"], well["components"]["workers"]["alive"]) == ("healthy", 1)
    assert well["components"]["workers"]["seconds_since_seen"] < 30
    clock.advance(31)
    assert health(client)["components"]["workers"]["alive"] == 0
    register(worker, ["stage"], 8)
    assert health(client)["status"] == "healthy"
    mark_stopped([worker.id])
    assert health(client)["status"] == "degraded"


def test_a_stalled_queue_is_noticed(
    client: httpx2.Client, clock: Clock, submit: Submit, fake_worker: FakeWorker
) -> None:
    def consumption() -> dict[str, Any]:
        document = health(client)
        found: dict[str, Any] = document["components"]["consumption"]
        assert (document["status"] == "degraded") == (found["status"] == "stalled")
        return found

    worker = Identity.of_this_process()
    register(worker, ["stage"], 8)
    nothing = {"status": "idle", "running": 0, "oldest_queued_seconds": None, "last_started_seconds": None}
    assert consumption() == nothing
    submit(queue="other", priority=3)
    submit(queue="stage", priority=0)
    assert consumption()["status"] == "idle"
    clock.advance(100)
    register(worker, ["stage"], 8)
    late = consumption()
    assert (late["status"], late["running"]) == ("stalled", 0)
    assert 100 <= late["oldest_queued_seconds"] < 200
    claimed = fake_worker.start()
    assert (consumption()["status"], consumption()["running"]) == ("moving", 1)
    fake_worker.complete(claimed)
    lately = consumption()
    assert (lately["status"], lately["running"]) == ("moving", 0)
    assert lately["last_started_seconds"] < 60


def test_work_without_a_worker_is_unhealthy(
    client: httpx2.Client, clock: Clock, submit: Submit, fake_worker: FakeWorker, connection: Observer
) -> None:
    assert health(client)["status"] == "degraded"  # no worker, and nothing to do
    later = submit(delay_seconds=60)["task_id"]
    assert health(client)["status"] == "degraded"
    clock.advance(61)  # due, and nobody there who would queue it
    assert health(client)["status"] == "unhealthy"
    client.post(f"/api/v1/tasks/{later}/cancel")
    queued = submit()["task_id"]
    assert health(client)["status"] == "unhealthy"
    register(worker := Identity.of_this_process(), ["stage"], 8)
    assert health(client)["status"] == "healthy"
    claimed = fake_worker.start()
    mark_stopped([worker.id])
    assert health(client)["status"] == "unhealthy"  # its worker is gone in the middle of it
    fake_worker.complete(claimed)
    assert claimed.id == queued
    assert health(client)["status"] == "degraded"
    waiting = submit()["task_id"]
    connection.execute(
        "UPDATE callboard.tasks SET status = 'waiting', waiting_gate = 'tenant:x' WHERE id = %s", [waiting]
    )
    assert health(client)["status"] == "unhealthy"


def test_strangers_see_statuses_only(
    client: httpx2.Client, connection: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(Identity.of_this_process(), ["stage"], 8)
    declare([Gate("provider:local", 8, breaker=True), Gate("provider:other", 1, breaker=True)])
    connection.execute("UPDATE callboard.gates SET breaker_state = 'open' WHERE key = 'provider:other'")
    for caller in (None, Caller("operator", "acme"), Caller("reader")):

        async def find_caller(_: object, found: Caller | None = caller) -> Caller | None:
            return found

        monkeypatch.setattr(resource, "find_caller", find_caller)
        answer = client.get("/health")
        document = answer.json()
        assert (answer.status_code, document["status"]) == (200, "degraded")
        if caller == Caller("reader"):
            assert document["components"]["circuit_breakers"]["provider:other"] == "open"
            assert document["components"]["workers"]["alive"] == 1
            continue
        assert "provider" not in answer.text
        assert {name: each.get("status") for name, each in document["components"].items()} == {
            "actors": "ok", "circuit_breakers": None, "consumption": "idle", "database": "ok",
            "recall": document["components"]["recall"]["status"], "workers": "ok",
        }  # fmt: skip
        assert document["components"]["circuit_breakers"] == {"*": "open"}
        values = [value for each in document["components"].values() for value in each.values()]
        assert [value for value in values if isinstance(value, (int, float))] == []


def test_an_open_circuit_breaker_is_shown(client: httpx2.Client, connection: Observer) -> None:
    register(Identity.of_this_process(), ["stage"], 8)
    declare([Gate("provider:local", 8, breaker=True), Gate("provider:other", 1, breaker=True), Gate("tenant:acme")])
    well = health(client)
    assert well["status"] == "healthy"
    assert well["components"]["circuit_breakers"] == {"provider:local": "closed", "provider:other": "closed"}
    connection.execute("UPDATE callboard.gates SET breaker_state = 'open' WHERE key = 'provider:other'")
    ill = health(client)
    assert (ill["status"], ill["components"]["circuit_breakers"]["provider:other"]) == ("degraded", "open")


def test_a_database_without_our_schema_is_not_ready(actors: None, postgres: TestPostgres, tmp_path: Path) -> None:
    postgres.execute("CREATE DATABASE bare")
    with settings_for(postgres.url("bare"), tmp_path), RunningServer() as server:
        answer = server.client.get("/readyz")
        assert "callboard migrate" in expect_problem(answer, 503, "not-ready")["detail"]
        assert answer.headers["retry-after"]
        assert server.client.get("/livez").json() == {"status": "alive"}
        assert health(server.client)["status"] == "unhealthy"
    postgres.execute("DROP DATABASE bare WITH (FORCE)")


def test_a_release_that_is_too_old_for_the_schema_is_not_ready(client: httpx2.Client, connection: Observer) -> None:
    assert client.get("/readyz").json() == {"status": "ready"}
    connection.execute("UPDATE callboard.applied_files SET digest = 'of another comment'")
    connection.execute("UPDATE callboard.schema_version SET version = version + 1")
    assert client.get("/readyz").json() == {"status": "ready"}
    connection.execute("UPDATE callboard.schema_version SET supports = version")
    assert "Upgrade this release" in expect_problem(client.get("/readyz"), 503, "not-ready")["detail"]


def test_a_server_starts_while_the_database_is_down(actors: None, tmp_path: Path) -> None:
    with settings_for("postgresql://nobody@127.0.0.1:1/nothing", tmp_path), RunningServer() as server:
        assert server.client.get("/livez").status_code == 200
        assert server.client.get("/openapi.json").status_code == 200
        document = expect_problem(server.client.get("/api/v1/tasks"), 503, "not-ready")
        assert "nobody" not in str(document)


@pytest.fixture
def own_postgres(actors: None, tmp_path: Path) -> Iterator[TestPostgres]:
    """A database server that the test may stop."""
    with tempfile.TemporaryDirectory(prefix="callboard-tests-", ignore_cleanup_errors=True) as folder:
        own = TestPostgres(Path(folder))
        own.start()
        try:
            with settings_for(own.url(), tmp_path):
                migrate()
                yield own
        finally:
            own.stop()


def test_requests_get_503_while_the_database_is_down_and_succeed_afterwards(
    own_postgres: TestPostgres, serve: Callable[..., RunningServer]
) -> None:
    server = serve()
    client = server.client
    task = submit_task("anything", {})
    assert client.get("/readyz").json() == {"status": "ready"}
    own_postgres.stop()
    eventually(lambda: not server.feed.connected, what="the listener noticed")
    for answer in (
        client.get(f"/api/v1/tasks/{task.task_id}"),
        client.post("/api/v1/tasks", json={"actor": "anything", "payload": {}}),
        client.get(f"/api/v1/tasks/{task.task_id}/stream"),
        client.get("/readyz"),
    ):
        document = expect_problem(answer, 503, "not-ready")
        assert answer.headers["retry-after"] == "2"
        assert "host" not in document["detail"]
        assert answer.elapsed.total_seconds() < 10
    assert health(client)["status"] == "unhealthy"
    assert client.get("/livez").status_code == 200
    own_postgres.start()
    eventually(lambda: client.get("/readyz").status_code == 200, what="ready again")
    assert client.get(f"/api/v1/tasks/{task.task_id}").json()["status"] == "queued"


def test_actors_that_no_worker_knows_are_named(client: httpx2.Client, submit: Submit, connection: Observer) -> None:
    register(Identity.of_this_process(), ["stage"], 8, ["anything"])
    assert health(client)["components"]["actors"] == {"status": "ok", "missing": [], "detail": None}
    submit()
    connection.execute("UPDATE callboard.tasks SET status = 'waiting', actor = 'new', waiting_gate = 'actor:new'")
    ill = health(client)
    assert (ill["status"], ill["components"]["actors"]["missing"]) == ("degraded", ["new"])
    assert "no worker knows: new" in ill["components"]["actors"]["detail"]
