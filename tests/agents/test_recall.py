"""The search for agent events: by vector, by words where that is not possible, and never across tenants."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tests.agents.memoryagents  # noqa: F401  (declares the agents that the tests use)
from state import delete, submit
from state.agents import embedder, events
from state.agents.embedder import Embedded, NotEmbedded
from state.agents.events import search
from state.database import connect
from state.logs import log
from state.schema.migration import migrate
from tests.agents.completing import AgentWorker
from tests.agents.remembered import FACTS, embed_all, read_texts
from tests.cli.command import callboard
from tests.conftest import settings_for
from tests.providers.servers import ChatServer
from tests.support.debian import find_binaries, start_debian_postgres
from tests.support.following import wait_until_finished
from tests.support.observer import Observer
from tests.support.workers import WorkerTree

Start = Callable[..., WorkerTree]


def test_by_vector(memory: list[str]) -> None:
    found = search("winter seas, a poem", limit=2)
    assert (found.method, found.note) == ("vector", None)
    assert read_texts(found)[0] == FACTS[2]
    assert found.items[0].event_id == memory[2]
    assert 1 >= found.items[0].score > found.items[1].score >= -1


def test_filters(memory: list[str], agent_worker: AgentWorker, connection: Observer) -> None:
    connection.execute("UPDATE callboard.agent_events SET agent_name = 'bard' WHERE id = %s", [memory[2]])
    assert read_texts(search("golf", agent_name="bard")) == [FACTS[2]]
    assert len(search("golf", task_type="statistics").items) == 3
    assert search("golf", task_type="none").items == []
    assert len(search("golf", limit=1).items) == 1


def test_what_has_no_vector_yet_is_counted(memory: list[str], agent_worker: AgentWorker) -> None:
    agent_worker.complete("brand new")
    found = search("brand new")
    assert (found.method, len(found.items)) == ("vector", 3)
    assert found.note == "1 event could not be found: without a vector of hashing as yet."


def test_vectors_of_another_model_are_not_compared(memory: list[str], connection: Observer) -> None:
    connection.execute("UPDATE callboard.agent_events SET embedding_model = 'other'")
    found = search("a poem about the sea")
    assert (found.method, read_texts(found)[0]) == ("text", FACTS[2])
    assert found.note is not None
    assert "no event that could be found has a vector of the model hashing" in found.note
    connection.execute("UPDATE callboard.agent_events SET embedding_model = 'hashing' WHERE id = %s", [memory[0]])
    found = search("a poem about the sea")
    assert (found.method, read_texts(found)) == ("vector", [FACTS[0]])
    assert found.note == "2 events could not be found: without a vector of hashing as yet."


def test_vectors_of_another_length_do_no_harm(memory: list[str], connection: Observer) -> None:
    connection.execute("UPDATE callboard.agent_events SET embedding = '{1,2,3}' WHERE id = %s", [memory[0]])
    assert len(search("a poem").items) == 2


def test_tenants_see_only_their_own(agent_worker: AgentWorker, connection: Observer) -> None:
    for tenant in ("acme", "umbrella", None):
        agent_worker.complete(f"the secret of {tenant}", tenant=tenant)
    for embedded in (False, True):
        for tenant in ("acme", "umbrella", None, "nobody"):
            found = search("the secret", tenant=tenant)
            assert read_texts(found) == ([f"the secret of {tenant}"] if tenant != "nobody" else [])
            assert "Searched" not in (found.note or "") or not embedded
        assert len(search("the secret", any_tenant=True).items) == 3
        embed_all(connection)


def test_deleted_tasks_are_not_found(memory: list[str], connection: Observer) -> None:
    task_id = connection.fetch_one("SELECT task_id FROM callboard.agent_events WHERE id = %s", [memory[2]])["task_id"]
    delete(task_id)
    assert FACTS[2] not in read_texts(search("a poem about the sea"))
    connection.execute("DROP EXTENSION vector CASCADE")
    assert FACTS[2] not in read_texts(search("a poem about the sea"))


def test_without_the_extension_it_searches_by_words_and_says_so(
    memory: list[str], connection: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.execute("DROP EXTENSION vector CASCADE")
    lines: list[dict[str, Any]] = []
    monkeypatch.setattr(log, "warning", lambda message, **more: lines.append(more))
    events._log_once.cache_clear()
    monkeypatch.setattr(embedder, "_embedder", lambda _: pytest.fail("nobody pays for a vector that is of no use"))
    for _ in range(2):
        found = search("a poem about winter")
        assert (found.method, read_texts(found)[0]) == ("text", FACTS[2])
        assert found.note is not None
        assert "run `CREATE EXTENSION vector` as its superuser, then `callboard migrate`" in found.note
    assert lines == [{"note": found.note}]
    migrate()
    monkeypatch.undo()
    assert search("a poem").method == "vector"
    assert connection.fetch_one("SELECT to_regclass('callboard.agent_events_embedding') AS index")["index"]


def test_an_extension_that_is_dropped_while_the_text_is_embedded(memory: list[str], connection: Observer) -> None:
    query = events.make_query("a poem about winter", events.explain_missing_vectors())
    assert query.vector is not None
    connection.execute("DROP EXTENSION vector CASCADE")
    found = events.find(query)
    assert (found.method, read_texts(found)[0]) == ("text", FACTS[2])
    assert "CREATE EXTENSION vector" in (found.note or "")


def test_migrate_makes_an_index_again_that_was_left_half_done(memory: list[str], connection: Observer) -> None:
    half = "UPDATE pg_index SET indisvalid = %s WHERE indexrelid = 'callboard.agent_events_embedding'::regclass"
    connection.execute(half, [False])
    assert migrate() == []
    valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'callboard.agent_events_embedding'::regclass"
    assert connection.fetch_one(valid) == {"indisvalid": True}
    assert search("a poem").method == "vector"


def test_an_extension_in_another_schema(agent_worker: AgentWorker, connection: Observer) -> None:
    agent_worker.complete(FACTS[0])
    connection.execute("DROP EXTENSION vector CASCADE")
    connection.execute('CREATE SCHEMA "Odd one"')
    connection.execute('CREATE EXTENSION vector SCHEMA "Odd one"')
    migrate()
    embed_all(connection)
    assert search("brake pads").method == "vector"
    assert connection.fetch_one("SELECT to_regclass('callboard.agent_events_embedding') AS index")["index"]


def test_an_old_extension_is_not_used(memory: list[str], connection: Observer) -> None:
    connection.execute("UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'")
    found = search("a poem")
    assert (found.method, found.note) == (
        "text",
        "Searched by words, not by vectors: pgvector 0.7.4 is too old: 0.8 or newer is needed.",
    )


@pytest.mark.parametrize(
    "text", ["'", "\\", "a & | !b:*", "''", '"', "<->", "!!!", " ", "é ﬁ 🦊", "x" * 5000, "a\x00b"]
)
def test_any_text_can_be_searched(memory: list[str], connection: Observer, text: str) -> None:
    search(text)
    connection.execute("DROP EXTENSION vector CASCADE")
    search(text)


def test_a_provider_that_is_down(memory: list[str], chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_BASE_URL", "http://127.0.0.1:1/api/v1")
    found = search("a poem about the sea")
    assert (found.method, read_texts(found)[0]) == ("text", FACTS[2])
    assert "openrouter did not embed the text" in (found.note or "")


def test_an_embedder_of_others(memory: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: str) -> Embedded:
        raise NotEmbedded("the key sk-or-v1-0123456789abcdef0123456789abcdef is wrong")

    monkeypatch.setattr(embedder, "_embedder", refuse)
    found = search("a poem about the sea")
    assert found.method == "text"
    assert "0123456789abcdef" not in (found.note or "")
    monkeypatch.setattr(embedder, "_embedder", None)
    assert "no module of CALLBOARD_ACTORS registers an embedder" in (search("sea").note or "")


@pytest.fixture
def debian_url(tmp_path: Path) -> Iterator[str]:
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("there is no PostgreSQL without pgvector (Debian, Ubuntu: apt install postgresql)")
    with start_debian_postgres(binaries) as url, settings_for(url, tmp_path):
        yield url


def test_a_postgres_without_pgvector(debian_url: str) -> None:
    done = callboard("migrate")
    assert "tables/agents" in done.stdout, done
    assert "Agent events will be searched by words, not by vectors: this Postgres has no pgvector" in done.stderr
    assert migrate() == []
    with connect("test") as worker_connection:
        worker = AgentWorker(worker_connection)
        for fact in FACTS:
            worker.complete(fact)
    found = search("the sea in winter", limit=1)
    assert (found.method, read_texts(found)) == ("text", [FACTS[2]])
    assert "this Postgres has no pgvector: install the extension `vector` there" in (found.note or "")


@pytest.mark.parametrize("task_type", ["remember", "remember_async"])
def test_an_agent_recalls_what_its_tenant_has_done(
    worker: Start, connection: Observer, agent_worker: AgentWorker, task_type: str
) -> None:
    for tenant in ("acme", "umbrella", None):
        agent_worker.complete(f"the secret of {tenant}", tenant=tenant)
    embed_all(connection)
    worker(actors="actors,tests.agents.memoryagents")
    for tenant in ("acme", None):
        payload = {"agent_name": "librarian", "task_type": task_type, "input": {"text": "secret"}}
        task = wait_until_finished(submit("agent", payload, tenant=tenant).task_id)
        assert task.status == "completed", task.error
        assert task.result["method"] == "vector"
        assert f"the secret of {tenant}" in task.result["texts"][0]
        assert not [text for text in task.result["texts"] if "umbrella" in text]
        assert task.usage["tokens"] > 0
