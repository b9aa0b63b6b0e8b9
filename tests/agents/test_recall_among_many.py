"""The search for agent events among a hundred thousand of them."""

from typing import Any

import tests.agents.memoryagents  # noqa: F401  (declares the agents that the tests use)
from providers.blocking import wait_for
from providers.embedding import registry
from state.agents.events import search
from state.schema.migration import migrate
from tests.agents.completing import AgentWorker
from tests.agents.remembered import embed_all, read_texts
from tests.support.observer import Observer


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
    vector = wait_for(registry.get("local").embed(["a needle in a haystack"])).vectors[0]
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
