"""Embeddings: one vector for each text, of the length that was asked for."""

import math

import pytest

from providers.blocking import wait_for
from providers.embedding import registry
from providers.errors import InvalidInput
from tests.providers.servers import ChatServer

LOCAL = registry.get("local")


def likeness(one: str, other: str) -> float:
    first, second = wait_for(LOCAL.embed([one, other])).vectors
    return sum(a * b for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("dimensions", [8, 384, 1536])
def test_local_vectors_have_length_one_and_the_dimensions_asked_for(dimensions: int) -> None:
    found = wait_for(LOCAL.embed(["a task was retried", "x", "日本語"], dimensions))
    assert [len(vector) for vector in found.vectors] == [dimensions] * 3
    assert all(math.hypot(*vector) == pytest.approx(1) for vector in found.vectors)
    assert found.tokens > 0


def test_local_vectors_are_the_same_in_every_process_and_zero_for_nothing() -> None:
    assert wait_for(LOCAL.embed(["a task was retried"])) == wait_for(LOCAL.embed(["a task was retried"]))
    assert not any(wait_for(LOCAL.embed([""])).vectors[0])


def test_texts_that_share_words_are_near() -> None:
    event = "The agent renamed the database column and ran the migration"
    near = likeness(event, "Migrations: an agent renames a column in the database")
    far = likeness(event, "Fresh bread needs flour, water and some patience")
    assert near > 0.3 > 0.2 > far
    assert likeness(event, event) == pytest.approx(1)


def test_the_remote_one_keeps_order_and_dimensions(chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_EMBEDDING_MODEL", "some/embedder")
    found = wait_for(registry.get("openrouter").embed(["one", "two"], 16))
    assert [len(vector) for vector in found.vectors] == [16, 16]
    assert found.vectors[0] == wait_for(registry.get("openrouter").embed(["one"], 16)).vectors[0]
    assert found.vectors[0] != found.vectors[1]
    assert (found.model, found.tokens) == ("some/embedder", 8)
    assert chat_server.requests[0]["input"] == ["one", "two"]


def test_a_model_with_other_dimensions_is_refused(chat_server: ChatServer) -> None:
    chat_server.faults.add("dimensions", 3072)
    with pytest.raises(InvalidInput, match="gives 3072 dimensions, not 384"):
        wait_for(registry.get("openrouter").embed(["one"]))


def test_availability() -> None:
    assert LOCAL.find_missing_variable() is None
    assert registry.get("openrouter").find_missing_variable() == "OPENROUTER_API_KEY"
    assert registry.list_names() == ["local", "openrouter"]
