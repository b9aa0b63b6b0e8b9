"""The search for agent events over HTTP and on the command line."""

import json
from collections.abc import Iterator

import httpx2
import pytest

import tests.agents.memoryagents  # noqa: F401  (declares the agents that the tests use)
from tests.agents.remembered import FACTS
from tests.cli.command import callboard
from tests.support.observer import Observer
from tests.taskapi.running import RunningServer


@pytest.fixture
def client(database_url: str) -> Iterator[httpx2.Client]:
    with RunningServer() as server:
        yield server.client


def test_over_http(client: httpx2.Client, memory: list[str], connection: Observer) -> None:
    answer = client.get("/api/v1/agent-events/search", params={"q": "a poem of the sea", "limit": 1})
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert (body["method"], body["note"]) == ("vector", None)
    [item] = body["items"]
    assert set(item) == {
        "event_id", "task_id", "workflow_id", "tenant", "agent_name", "task_type", "text", "score", "created_at",
    }  # fmt: skip
    assert (item["event_id"], item["created_at"][-1]) == (memory[2], "Z")
    one = client.get(f"/api/v1/agent-events/{item['event_id']}").json()
    assert (one["task_id"], one["input"]) == (item["task_id"], {"text": FACTS[2]})
    assert (one["embedding_model"], one["embedded_at"] is not None) == ("hashing", True)
    assert client.get("/health").json()["components"]["recall"] == {"status": "vector", "detail": None}
    connection.execute("DROP EXTENSION vector CASCADE")
    body = client.get("/api/v1/agent-events/search", params={"q": "poem", "tenant": "acme"}).json()
    assert (body["items"], body["method"]) == ([], "text")
    assert "pgvector" in body["note"]
    recall = client.get("/health").json()["components"]["recall"]
    assert (recall["status"], "pgvector" in recall["detail"]) == ("text", True)


def test_refusals_over_http(client: httpx2.Client, memory: list[str]) -> None:
    for event_id in ("nonsense", f"ae_{0:032}"):
        missing = client.get(f"/api/v1/agent-events/{event_id}")
        assert (missing.status_code, missing.json()["error"]) == (404, "agent-event-not-found")
    for query in ({}, {"q": ""}, {"q": "a", "limit": "0"}, {"q": "a", "limit": "101"}, {"q": "a", "x": "y"}):
        wrong = client.get("/api/v1/agent-events/search", params=query)
        assert (wrong.status_code, wrong.json()["error"]) == (422, "invalid-parameter")


def test_on_the_command_line(memory: list[str], connection: Observer) -> None:
    done = callboard("recall", "a poem of the sea", "--limit", "1", "--agent", "text", "--json")
    assert done.returncode == 0, done
    found = json.loads(done.stdout)
    assert (found["method"], [item["event_id"] for item in found["items"]]) == ("vector", [memory[2]])
    connection.execute("DROP EXTENSION vector CASCADE")
    done = callboard("recall", "brake pads")
    assert "brake pads of a Golf" in done.stdout
    assert "Searched by words, not by vectors: pgvector is not in this database" in done.stderr
    done = callboard("recall", "brake pads", "--tenant", "acme")
    assert "Nothing was found." in done.stdout
