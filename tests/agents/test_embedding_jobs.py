"""The jobs that embed agent events: real workers, a real embeddings API that fails at times."""

from collections.abc import Callable
from typing import Any

import pytest

import tests.agents.memoryagents  # noqa: F401  (declares the agents that the tests use)
from actors.embedding import embedding
from broker.testing import run_actor
from providers.blocking import wait_for
from providers.embedding import registry
from providers.embedding.protocol import DIMENSIONS
from providers.errors import InvalidInput
from state import LeaseLost, get_task, list_dead_letters, redrive, submit
from state.agents.events import search, store_embedding
from state.database import transaction
from state.errors import InvalidPayload
from state.maintenance.sweep import read_last_seen, sweep
from tests.agents.completing import AgentWorker, count_events, submit_agent
from tests.providers.servers import ChatServer
from tests.support.clock import Clock
from tests.support.eventually import eventually
from tests.support.following import wait_for_attempt, wait_until_finished
from tests.support.observer import Observer
from tests.support.workers import WorkerTree

Start = Callable[..., WorkerTree]
FACTS = ("the brake pads of a Golf IV", "an invoice for forty tires", "a poem about the sea in winter")


def wait_for_job(event_id: str, connection: Observer) -> str:
    job = connection.fetch_one("SELECT job_id FROM callboard.agent_events WHERE id = %s", [event_id])["job_id"]
    task = wait_until_finished(job)
    assert task.status == "completed", task.error
    return str(job)


def test_workers_embed_what_agents_have_done(worker: Start, connection: Observer) -> None:
    worker()
    for fact in FACTS:
        assert wait_until_finished(submit_agent(fact)).status == "completed"
    for row in connection.execute("SELECT id FROM callboard.agent_events").fetchall():
        wait_for_job(row["id"], connection)
    rows = connection.execute("SELECT text, embedding, embedding_model, embedded_at FROM callboard.agent_events")
    for row in rows.fetchall():
        [expected] = wait_for(registry.get("local").embed([row["text"]])).vectors
        assert row["embedding"] == pytest.approx(expected, abs=1e-6)
        assert (row["embedding_model"], row["embedded_at"] is not None) == ("hashing", True)
    found = search("which brake pad fits a golf?", limit=2)
    assert (found.method, found.note, len(found.items)) == ("vector", None, 2)
    assert FACTS[0] in found.items[0].text
    assert found.items[0].score > found.items[1].score
    jobs = connection.execute("SELECT status, waiting_since, error_type FROM admin.embedding_jobs").fetchall()
    assert jobs == [{"status": "completed", "waiting_since": None, "error_type": None}] * 3


def test_a_remote_provider_embeds_behind_its_gate(
    worker: Start, agent_worker: AgentWorker, connection: Observer, chat_server: ChatServer
) -> None:
    """The job is inserted without the provider's gate. The worker asks for it, and no attempt is burned."""
    event_id = agent_worker.complete("a word for the remote model", tenant="acme")
    worker()
    job = get_task(wait_for_job(event_id, connection))
    assert (job.attempt, job.result["provider"]) == (1, "openrouter")
    gates = connection.fetch_one("SELECT gates FROM callboard.tasks WHERE id = %s", [job.task_id])["gates"]
    assert gates == ["provider:openrouter", "tenant:acme"]
    [request] = chat_server.requests
    assert request["dimensions"] == DIMENSIONS
    assert "a word for the remote model" in request["input"][0]
    row = connection.fetch_one("SELECT embedding_model, embedding FROM callboard.agent_events")
    assert (row["embedding_model"], len(row["embedding"])) == ("openai/text-embedding-3-small", DIMENSIONS)
    assert job.usage["tokens"] == 8


def test_while_the_provider_is_down_the_job_is_tried_again_and_searches_go_by_words(
    worker: Start, agent_worker: AgentWorker, connection: Observer, chat_server: ChatServer, clock: Clock
) -> None:
    chat_server.faults.add("embeddings", 503, 503)
    event_id = agent_worker.complete("a tale of two whales")
    worker()
    job_id = connection.fetch_one("SELECT job_id FROM callboard.agent_events")["job_id"]
    job = wait_for_attempt(job_id)
    assert (job.status, (job.error or {})["type"]) == ("scheduled", "ServiceUnavailable")
    view = connection.fetch_one("SELECT * FROM admin.embedding_jobs")
    assert (view["event_id"], view["job_id"], view["status"]) == (event_id, job_id, "scheduled")
    assert (view["error_type"], view["waiting_since"] is not None) == ("ServiceUnavailable", True)
    assert view["next_attempt_at"] is not None
    found = search("two whales")
    assert (found.method, [event.event_id for event in found.items]) == ("text", [event_id])
    assert found.note is not None
    assert found.note.startswith("Searched by words, not by vectors: openrouter did not embed the text (")
    clock.advance(60)
    wait_for_job(event_id, connection)
    assert search("a tale of two whales").method == "vector"


def test_a_closed_gate_makes_jobs_wait_and_costs_no_attempt(
    worker: Start, connection: Observer, chat_server: ChatServer
) -> None:
    worker()
    eventually(lambda: connection.execute("SELECT FROM callboard.gates WHERE key = 'provider:openrouter'").fetchall())
    connection.execute("UPDATE callboard.gates SET closed_until = callboard.now() + interval '1 hour'")
    assert wait_until_finished(submit_agent()).status == "completed"
    job_id = connection.fetch_one("SELECT job_id FROM callboard.agent_events")["job_id"]
    eventually(lambda: get_task(job_id).status == "waiting", what="the job waits at the gate of the provider")
    view = connection.fetch_one("SELECT status, attempt, waiting_gate FROM admin.embedding_jobs")
    assert view == {"status": "waiting", "attempt": 0, "waiting_gate": "provider:openrouter"}
    assert chat_server.requests == []


def test_a_job_that_gave_up_is_a_dead_letter_and_can_be_redriven(
    worker: Start, agent_worker: AgentWorker, connection: Observer, chat_server: ChatServer
) -> None:
    chat_server.faults.add("embeddings", 401)
    event_id = agent_worker.complete()
    worker()
    [dead] = eventually(list_dead_letters, what="the job is dead")
    assert (dead.actor, (dead.error or {})["type"]) == ("embedding", "AuthenticationFailed")
    assert redrive(actor="embedding").tasks == 1
    wait_for_job(event_id, connection)
    assert count_events(connection) == 1


def test_the_vector_is_stored_only_for_the_owner_of_the_job(agent_worker: AgentWorker, connection: Observer) -> None:
    event_id = agent_worker.complete()
    [job] = agent_worker.claim(queue="language")
    vector = wait_for(registry.get("local").embed(["a"])).vectors[0]
    for worker, epoch in (("another", job.epoch), ("w1", job.epoch + 1)):
        with pytest.raises(LeaseLost), transaction() as conn:
            store_embedding(worker, job.id, epoch, event_id, vector, "m", conn)
    assert connection.fetch_one("SELECT embedding FROM callboard.agent_events")["embedding"] is None
    for _ in range(2):  # a repetition does no harm
        with transaction() as conn:
            store_embedding("w1", job.id, job.epoch, event_id, vector, "m", conn)
    assert connection.fetch_one("SELECT embedding_model FROM callboard.agent_events")["embedding_model"] == "m"


def test_a_task_embeds_no_event_of_another_tenant(agent_worker: AgentWorker, connection: Observer) -> None:
    event_id = agent_worker.complete(tenant="b")
    with pytest.raises(InvalidInput, match=event_id):
        run_actor(embedding, {"event_id": event_id}, tenant="a")
    [own_job] = agent_worker.claim(queue="language")
    agent_worker.settle(own_job, "canceled")
    submit("embedding", {"event_id": event_id}, tenant="a")
    [job] = agent_worker.claim(queue="language")
    vector = wait_for(registry.get("local").embed(["a"])).vectors[0]
    with pytest.raises(LeaseLost), transaction() as conn:
        store_embedding("w1", job.id, job.epoch, event_id, vector, "m", conn)
    assert connection.fetch_one("SELECT embedding FROM callboard.agent_events")["embedding"] is None


@pytest.mark.parametrize("vector", [[0.0] * 384, [float("nan")] * 384, [1e39, *[0.0] * 383]])
def test_a_vector_that_cannot_be_compared_is_refused(agent_worker: AgentWorker, vector: list[float]) -> None:
    event_id = agent_worker.complete()
    [job] = agent_worker.claim(queue="language")
    with pytest.raises(ValueError, match="cannot be compared"), transaction() as conn:
        store_embedding("w1", job.id, job.epoch, event_id, vector, "m", conn)


def test_a_killed_worker_does_not_lose_the_job(
    worker: Start, agent_worker: AgentWorker, connection: Observer, chat_server: ChatServer, clock: Clock
) -> None:
    chat_server.faults.add("embeddings", "hang")
    event_id = agent_worker.complete()
    first = worker()
    eventually(lambda: chat_server.requests, what="the provider is asked")
    first.kill()
    clock.advance(31)
    sweep(silent=read_last_seen())
    worker()
    job = get_task(wait_for_job(event_id, connection))
    assert (job.attempt, count_events(connection)) == (2, 1)


def test_requests_that_are_refused(database_url: str) -> None:
    wrong: list[dict[str, Any]] = [
        {},
        {"texts": ["a"], "event_id": f"ae_{0:032}"},
        {"event_id": "x"},
        {"texts": []},
    ]
    for payload in wrong:
        with pytest.raises(InvalidPayload):
            submit("embedding", payload)
    with pytest.raises(InvalidPayload, match="384 dimensions"):
        submit("embedding", {"event_id": f"ae_{0:032}", "dimensions": 8})


def test_an_event_that_does_not_exist_is_a_permanent_error(worker: Start) -> None:
    worker()
    task = wait_until_finished(submit("embedding", {"event_id": f"ae_{0:032}"}).task_id)
    assert (task.status, (task.error or {})["type"], task.attempt) == ("dead", "InvalidInput", 1)
