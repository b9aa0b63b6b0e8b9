"""The search for agent events: by vector, by words where that is not possible, and never across tenants."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

import tests.agents.memoryagents  # noqa: F401  (declares the agents that the tests use)
from providers.embedding import registry
from state import delete, submit
from state.agents import embedder, events
from state.agents.embedder import Embedded, NotEmbedded
from state.agents.events import Found, search
from state.database import connect
from state.logs import log
from state.schema.migration import migrate
from tests.agents.completing import AgentWorker
from tests.cli.command import callboard
from tests.conftest import settings_for
from tests.providers.servers import ChatServer
from tests.support.debian import find_binaries, start_debian_postgres
from tests.support.following import wait_until_finished
from tests.support.observer import Observer
from tests.support.workers import WorkerTree
from tests.taskapi.running import RunningServer

Start = Callable[..., WorkerTree]
FACTS = ("the brake pads of a Golf IV", "an invoice for forty tires", "a poem about the sea in winter")


def embed_all(connection: Observer) -> None:
    """Embeds as the jobs do, without workers."""
    rows = connection.execute("SELECT id, text FROM callboard.agent_events WHERE embedding IS NULL").fetchall()
    embedded = registry.get("local").embed([row["text"] for row in rows])
    for row, vector in zip(rows, embedded.vectors, strict=True):
        connection.execute(
            "UPDATE callboard.agent_events SET embedding = %s, embedding_model = %s, embedded_at = now() WHERE id = %s",
            [vector, embedded.model, row["id"]],
        )


def read_texts(found: Found) -> list[str]:
    return [event.text.split("\n")[1].removeprefix("text: ") for event in found.items]


@pytest.fixture
def memory(agent_worker: AgentWorker, connection: Observer) -> list[str]:
    """Three embedded events; returns their ids."""
    ids = [agent_worker.complete(fact) for fact in FACTS]
    embed_all(connection)
    return ids


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


def count_scans(connection: Observer, query: str, *parameters: Any) -> tuple[int, dict[str, int]]:
    """Runs a query. Returns the number of its rows, and how often each index of the events was used for it; `None`
    stands for the table itself."""

    def read() -> dict[str, int]:
        connection.execute("SELECT pg_stat_force_next_flush()")
        rows = connection.execute(
            "SELECT 'None' AS name, seq_scan AS scans FROM pg_stat_user_tables WHERE relname = 'agent_events' "
            "UNION ALL SELECT indexrelname, idx_scan FROM pg_stat_user_indexes WHERE relname = 'agent_events'"
        ).fetchall()
        return {row["name"]: row["scans"] for row in rows}

    before = read()
    found = len(connection.execute(query, parameters or None).fetchall())
    after = read()
    return found, {name: after[name] - before[name] for name in after if after[name] > before[name]}


def fill(connection: Observer, embedded: int) -> None:
    """100,000 events of others. The first of them belong to a tenant and have vectors of the model; the rest have those
    of another model."""
    connection.execute(
        "INSERT INTO callboard.agent_events (id, task_id, tenant, agent_name, task_type, text, input, job_id, "
        "embedding, embedding_model, created_at) "
        "SELECT 'ae_' || n, 'tq_' || n, CASE WHEN n <= %(embedded)s THEN 'big' END, 'hay', 'stack', "
        "E'hay stack\\nthe hay of ' || n, '{}', 'tq_j' || n, CASE WHEN n <= %(embedded)s THEN "
        "ARRAY(SELECT (random() - 0.5)::real FROM generate_series(1, 384) WHERE n > 0) END, "
        "CASE WHEN n <= %(embedded)s THEN 'hashing' ELSE 'other' END, now() "
        "FROM generate_series(1, 100000) AS n",
        {"embedded": embedded},
    )


def test_vectors_among_a_hundred_thousand_events_are_found_by_the_index(
    agent_worker: AgentWorker, connection: Observer
) -> None:
    """Also those of a tenant with few events among them, and with the statistics of an empty table."""
    agent_worker.complete("the needle in the haystack", tenant="small")
    agent_worker.complete("the needle in the haystack")
    embed_all(connection)
    connection.execute("DROP INDEX callboard.agent_events_embedding")  # made anew in less time than with each row
    fill(connection, embedded=6_000)
    migrate()
    for tenant in ("small", None):
        found = search("a needle in a haystack", tenant=tenant, limit=3)
        assert (found.method, read_texts(found)[0]) == ("vector", "the needle in the haystack")
    vector = registry.get("local").embed(["a needle in a haystack"]).vectors[0]
    nearest = "SELECT * FROM callboard.nearest_agent_events(%s::real[], 'hashing', %s, %s, NULL, NULL, 3)"
    for _ in range(2):
        assert count_scans(connection, nearest, vector, None, True) == (
            3,
            {"agent_events_model": 1, "agent_events_embedding": 1},  # counts, and searches
        )
        assert count_scans(connection, nearest, vector, "big", False) == (
            3,
            {"agent_events_model": 1, "agent_events_embedding": 1},
        )
        assert count_scans(connection, nearest, vector, "small", False) == (1, {"agent_events_model": 2})
        connection.execute("ANALYZE callboard.agent_events")


def test_words_among_a_hundred_thousand_events_are_found_by_the_index(
    agent_worker: AgentWorker, connection: Observer
) -> None:
    agent_worker.complete("the needle in the haystack")
    fill(connection, embedded=0)
    by_words = "SELECT * FROM callboard.agent_events_with_words('a needle in the hay', NULL, true, NULL, NULL, 3)"
    for _ in range(2):
        rows, scans = count_scans(connection, by_words)
        assert (rows, scans.pop("agent_events_search")) == (3, 6)  # all words, and each of the five
        assert list(scans) == ["agent_events_pkey"]  # those that are ranked
        connection.execute("ANALYZE callboard.agent_events")
    connection.execute("DROP EXTENSION vector CASCADE")
    assert read_texts(search("a needle in the hay", limit=3))[0] == "the needle in the haystack"


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
