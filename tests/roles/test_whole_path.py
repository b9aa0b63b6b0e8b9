"""The real server as callboard_api and real workers as callboard_worker, through everything that they do."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.clock import Clock
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.support.postgres import TestPostgres
from tests.upgrade.release import Running, Server
from tests.webhooks.receiver import Receiver

API = "/api/v1"
TEXT = {"agent_name": "text", "task_type": "statistics", "input": {"text": "a b"}}
ENDED = ("completed", "canceled", "dead")


class Client(httpx2.Client):
    """Fails at once if an answer is not a success."""

    def send(self, *args: Any, **options: Any) -> httpx2.Response:
        response = super().send(*args, **options)
        assert response.status_code < 400, (response.request.method, response.request.url, response.text)
        return response

    def submit(self, actor: str, payload: dict[str, Any], **options: Any) -> str:
        return str(self.post(f"{API}/tasks", json={"actor": actor, "payload": payload, **options}).json()["task_id"])

    def wait(self, task_id: str, *statuses: str) -> dict[str, Any]:
        def reached() -> dict[str, Any] | None:
            task: dict[str, Any] = self.get(f"{API}/tasks/{task_id}").json()
            return task if task["status"] in (statuses or ENDED) else None

        found = eventually(reached, 60, what=f"{task_id} is {statuses or ENDED}")
        assert found is not None
        return found


@pytest.fixture
def client(api: Server) -> Iterator[Client]:
    with Client(base_url=api.url, timeout=30, trust_env=False) as opened:
        yield opened


@pytest.fixture
def nothing_was_denied(postgres: TestPostgres, database_url: str) -> Iterator[None]:
    """What follows from the end of a task may fail without anybody noticing, except Postgres's log."""
    position = postgres.log_size()
    yield
    lines = postgres.log_since(position).splitlines()
    assert [line for line in lines if "permission denied" in line or "must be owner" in line] == []


def test_everything_works_with_the_rights_of_the_roles(
    nothing_was_denied: None,
    client: Client,
    api: Server,
    start_workers: Callable[..., Running],
    receiver: Receiver,
    connection: Observer,
    clock: Clock,
    tmp_path: Path,
) -> None:
    workers = start_workers()
    ends_by_itself(client, receiver)
    is_stopped_and_runs_again(client)
    is_operated(client)
    waits_in_workflows_and_projects(client)
    comes_again(client, connection)
    is_lost(client, workers, connection, tmp_path)
    clock.advance(180)  # the minutes are over that the metrics count
    start_workers()
    eventually(
        lambda: connection.execute("SELECT FROM callboard.agent_events WHERE embedding IS NULL").rowcount == 0, 60
    )
    eventually(lambda: connection.execute("SELECT FROM callboard.task_queue_metrics").rowcount > 0, 60)
    assert connection.execute("SELECT * FROM admin.invariants").fetchall() == []
    needs_a_key(client, api, connection)


def ends_by_itself(client: Client, receiver: Receiver) -> None:
    """Media, summaries, agents, dedup, idempotency, prompts, webhooks."""
    client.put(f"{API}/prompts/fox", json={"text": "a red fox"})
    image = client.submit(
        "media_generation",
        {"prompt_id": "fox", "params": {"steps": 2, "step_seconds": 0}},
        webhook_url=receiver.url,
        dedup_key="fox",
    )
    body = {"actor": "summarize", "payload": {"content": "One. Two. Three.", "provider": "local"}}
    first, second = (
        client.post(f"{API}/tasks", json=body, headers={"Idempotency-Key": "once"}).json() for _ in range(2)
    )
    assert first["task_id"] == second["task_id"]
    agent = client.submit("agent", TEXT)
    command = client.submit("agent", {"agent_name": "command", "task_type": "run", "input": {"command": ["true"]}})
    batch = client.post(f"{API}/tasks/batch", json={"tasks": [{"actor": "noop", "payload": {}}] * 2}).json()
    for task_id in (image, first["task_id"], agent, command, *(each["task"]["task_id"] for each in batch["items"])):
        ended = client.wait(task_id)
        assert ended["status"] == "completed", ended
    made = client.wait(image)["result"]
    assert client.get(f"{API}/contents/{made['content_ids'][0]}").content.startswith(b"\x89PNG")
    client.get(f"{API}/generations/{made['metadata_id']}")
    client.get(f"{API}/agent-events/search", params={"q": "statistics"})
    eventually(lambda: receiver.received, 60, what="a webhook")
    client.post(f"{API}/tasks/{image}/webhooks/replay", json={})
    eventually(lambda: len(receiver.received) >= 2, 60, what="the replay")
    for path in ("attempts", "events", "webhooks"):
        client.get(f"{API}/tasks/{image}/{path}")
    with client.stream("GET", f"{API}/tasks/{image}/stream") as stream:
        assert "event: done" in "".join(stream.iter_text())
    client.delete(f"{API}/tasks/{image}")


def is_stopped_and_runs_again(client: Client) -> None:
    running = client.submit("steps", {"seconds": 600})
    client.wait(running, "running")
    client.post(f"{API}/tasks/{running}/pause")
    client.wait(running, "paused")
    client.post(f"{API}/tasks/{running}/resume")
    client.wait(running, "running")
    client.post(f"{API}/tasks/{running}/cancel", json={})
    client.wait(running, "canceled")
    dead = [client.submit("async_timeout", {}, max_attempts=1, target="site") for _ in range(2)]
    client.wait(dead[0], "dead")
    client.get(f"{API}/targets/site")
    client.post(f"{API}/targets/site/jobs/{dead[0]}/clear")
    client.wait(dead[1], "dead")
    client.post(f"{API}/tasks/{dead[1]}/retry", json={})
    client.wait(dead[1], "dead")
    client.post(f"{API}/queues/dlq/redrive", json={"actor": "async_timeout"})
    client.wait(dead[1], "dead")
    client.get(f"{API}/queues/dlq")
    client.post(f"{API}/queues/dlq/dismiss", json={"actor": "async_timeout"})
    client.wait(dead[1], "canceled")


def is_operated(client: Client) -> None:
    """Gates, queues, health, metrics."""
    client.put(f"{API}/gates/tenant:acme", json={"max_concurrent": 0})
    held = client.submit("noop", {}, tenant="acme")
    waiting = client.wait(held, "waiting")
    assert waiting["waiting"]["reason"] == "0 of 0 running"
    client.put(f"{API}/gates/tenant:acme", json={"max_concurrent": 1, "rate_count": 100, "rate_seconds": 1})
    client.wait(held, "completed")
    client.post(f"{API}/queues/test/pause")
    client.post(f"{API}/queues/test/resume")
    paths = ("gates", "workers", "queues/status", "actors", "agents", "providers", "metrics/tasks", "targets", "tasks")
    for path in paths:
        client.get(f"{API}/{path}")
    for path in ("/health", "/readyz", "/metrics", "/openapi.json", "/"):
        client.get(path)


def waits_in_workflows_and_projects(client: Client) -> None:
    steps = [
        {"key": "ask", "kind": "approval"},
        {"key": "count", **TEXT, "after": ["ask"]},
        {"key": "again", **TEXT, "after": ["count"]},
    ]
    workflow = client.post(f"{API}/workflows", json={"name": "review", "steps": steps}).json()["workflow_id"]
    client.post(f"{API}/workflows/{workflow}/steps/ask/approve", json={"by": "ann"})
    read = f"{API}/workflows/{workflow}"
    eventually(lambda: client.get(read).json()["status"] == "completed", 60, what="the workflow is completed")
    other = client.post(f"{API}/workflows", json={"name": "other", "steps": steps}).json()["workflow_id"]
    client.post(f"{API}/workflows/{other}/cancel")
    project = client.post(f"{API}/projects", json={"name": "Spring"}).json()["project_id"]
    here = f"{API}/projects/{project}"
    client.post(f"{here}/items", json={"items": [{"title": "one", **TEXT}, {"title": "two", **TEXT}]})
    client.post(f"{here}/run", json={"mode": "loop"})
    eventually(lambda: client.get(here).json()["items"]["completed"] == 2, 60, what="both items are completed")
    eventually(lambda: not client.get(f"{here}/queue/status").json()["is_running"], 60)
    client.post(f"{here}/queue/force-stop")
    client.get(f"{here}/runs")


def comes_again(client: Client, connection: Observer) -> None:
    new = {"name": "nightly", "cron": "0 3 * * *", "actor": "noop", "payload": {}}
    schedule = client.post(f"{API}/schedules", json=new).json()["links"]["self"]
    started = client.post(f"{schedule}/run").json()
    client.wait(started["task_id"], "completed")
    for verb in ("pause", "resume"):
        client.post(f"{schedule}/{verb}")
    connection.execute("UPDATE callboard.schedules SET next_at = callboard.now()")
    eventually(lambda: len(client.get(f"{schedule}/runs").json()["items"]) == 2, 60, what="a tick of the maintainer")
    client.delete(schedule)


def is_lost(client: Client, workers: Running, connection: Observer, tmp_path: Path) -> None:
    """The server takes a task from a dead worker of its machine, while no worker is left to do it."""
    note = tmp_path / "note"
    lost = client.submit("stubborn", {"seconds": 600, "file": str(note)})
    client.wait(lost, "running")
    workers.kill()
    requeue = f"{API}/tasks/requeue-orphaned"  # the killed processes need a moment to end
    eventually(lambda: lost in str(client.post(requeue).json()["lost"]), 60, what="the task is found")
    assert client.wait(lost, "queued")["attempt"] == 1
    client.post(f"{API}/tasks/{lost}/cancel", json={})
    # A delivery of a webhook may have been lost with the worker as well.
    found = connection.execute("SELECT FROM callboard.attempts WHERE outcome = 'lost' AND task_id = %s", [lost])
    assert found.rowcount == 1


def needs_a_key(client: Client, api: Server, connection: Observer) -> None:
    key = client.post(f"{API}/keys", json={"name": "ann", "role": "operator"}).json()
    client.headers["Authorization"] = f"Bearer {key['key']}"
    other = client.post(f"{API}/keys", json={"name": "bob", "role": "reader", "tenant": "acme"}).json()
    client.delete(f"{API}/keys/{other['key_id']}")
    api.process.terminate()  # writes when the keys were used
    api.process.wait(30)
    assert connection.execute("SELECT FROM callboard.api_keys WHERE last_used_at IS NOT NULL").rowcount == 1
