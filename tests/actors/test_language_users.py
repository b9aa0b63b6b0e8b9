"""The other actors that use models: the writer among the agents, and the embedding."""

from typing import Any

import pytest

from providers.blocking import wait_for
from providers.embedding import registry as embeddings
from state import get_events, submit
from state.errors import InvalidPayload
from tests.actors.conftest import Start
from tests.providers.servers import ChatServer
from tests.support.following import get_error, wait_for_attempt, wait_until_finished


def agent(**given: Any) -> str:
    return submit("agent", {"agent_name": "writer", "task_type": "complete", "input": given}).task_id


def test_the_writer_writes(start: Start, chat_server: ChatServer) -> None:
    start()
    task = wait_until_finished(agent(prompt="Tell me of the sea.", instruction="Be brief.", max_tokens=50))
    assert task.result == {
        "text": "In short: Tell me of the sea.",
        "provider": "openrouter",
        "model": "mistralai/mistral-small-3.2-24b-instruct",
    }
    [request] = chat_server.chat_requests
    assert (request["max_tokens"], request["messages"][0]) == (50, {"role": "system", "content": "Be brief."})
    assert "".join(e.data["text"] for e in get_events(task.task_id) if e.kind == "token") == task.result["text"]
    assert task.usage["tokens"] == 121
    assert wait_until_finished(agent(prompt="The sea is wide.", provider="local")).result["text"] == "The sea is wide."


def test_the_embedding_embeds(start: Start, chat_server: ChatServer) -> None:
    start()
    texts = ["a cat", "a dog", "the sea"]
    task = wait_until_finished(submit("embedding", {"texts": texts, "dimensions": 8}).task_id)
    assert task.result["provider"] == "openrouter"
    assert [len(vector) for vector in task.result["vectors"]] == [8, 8, 8]
    assert chat_server.requests[0]["input"] == texts
    assert task.usage["tokens"] == 8
    chat_server.faults.add("embeddings", 429)
    task = wait_for_attempt(submit("embedding", {"texts": texts}).task_id)
    assert (task.status, get_error(task)["type"]) == ("scheduled", "RateLimited")
    local = wait_until_finished(submit("embedding", {"texts": texts, "provider": "local"}).task_id)
    assert local.result["vectors"] == wait_for(embeddings.get("local").embed(texts)).vectors


def test_without_a_key_they_are_refused_by_name(database_url: str) -> None:
    for actor, payload in (
        (
            "agent",
            {"agent_name": "writer", "task_type": "complete", "input": {"prompt": "A", "provider": "openrouter"}},
        ),
        ("embedding", {"texts": ["A"], "provider": "openrouter"}),
    ):
        with pytest.raises(InvalidPayload, match="set OPENROUTER_API_KEY"):
            submit(actor, payload)
    with pytest.raises(InvalidPayload):
        submit("embedding", {"texts": []})
