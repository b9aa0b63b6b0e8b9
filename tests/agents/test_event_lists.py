"""The list of agent events: filters, pages, tenants; and what it reads beside a hundred thousand others."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from state.access.caller import Caller
from state.agents.events import ListedEvent, list_events
from state.database.statements import statement
from tests.agents.completing import AgentWorker
from tests.cli.command import callboard
from tests.support.observer import Observer
from tests.taskapi.running import RunningServer

MANY = 100_000
MOST_BLOCKS = 400  # the table has twenty times as many

# One every second, oldest first, as new_id makes their ids; each word `rare` is in one of them.
FILL = """
SET session_replication_role = replica;  -- no triggers
INSERT INTO callboard.agent_events (id, task_id, tenant, agent_name, task_type, text, input, job_id, created_at)
SELECT callboard.id_bound('ae_', at, '0') || lpad(n::text, 20, '0'), 'tq_' || n, CASE WHEN n % 10 = 0 THEN 'acme' END,
       'agent' || n % 3, 'type' || n % 2, CASE WHEN n IN (7, 50000) THEN 'rare common' ELSE 'common words of ' || n END,
       '{}', 'tq_j' || n, at
FROM generate_series(1, MANY) AS n, LATERAL (SELECT timestamptz '2030-01-01Z' + n * interval '1 second' AS at) AS m;
SET session_replication_role = origin;
"""
BEGIN = datetime(2030, 1, 1, tzinfo=UTC)


def read_words(events: list[ListedEvent]) -> list[str]:
    return [event.text.splitlines()[1].removeprefix("text: ") for event in events]


def test_filters(agent_worker: AgentWorker) -> None:
    agent_worker.complete("a red house")
    agent_worker.complete("a red car", tenant="acme")
    agent_worker.complete("a blue House")
    assert read_words(list_events()) == ["a blue House", "a red car", "a red house"]
    assert read_words(list_events(text="HOUSE")) == ["a blue House", "a red house"]
    assert read_words(list_events(text="red a house")) == ["a red house"]
    assert read_words(list_events(text="hous")) == []
    assert read_words(list_events(text="-- !!")) == []
    assert read_words(list_events(agent_name="text", task_type="statistics", limit=2)) == ["a blue House", "a red car"]
    assert list_events(agent_name="tex") == list_events(task_type="statistic") == list_events(tenant="acm") == []


def test_tenants(agent_worker: AgentWorker) -> None:
    agent_worker.complete("ours", tenant="acme")
    agent_worker.complete("theirs", tenant="umbrella")
    agent_worker.complete("of nobody")
    caller = Caller("reader", tenant="acme")
    assert read_words(list_events(caller=caller)) == ["ours"]
    assert read_words(list_events(tenant="acme", caller=caller)) == ["ours"]
    assert list_events(tenant="umbrella", caller=caller) == []
    assert list_events(text="theirs", caller=caller) == []
    assert read_words(list_events(tenant="umbrella")) == ["theirs"]


def test_events_of_deleted_tasks_are_not_listed(agent_worker: AgentWorker, connection: Observer) -> None:
    kept = agent_worker.complete("kept")
    hidden = agent_worker.complete("hidden")
    connection.execute("UPDATE callboard.agent_events SET hidden_at = now() WHERE id = %s", [hidden])
    assert [event.event_id for event in list_events()] == [kept]
    assert [event.event_id for event in list_events(text="statistics")] == [kept]


@pytest.fixture
def filled(connection: Observer) -> None:
    connection.execute(FILL.replace("MANY", str(MANY)))


CASES: list[tuple[dict[str, Any], str | None, int]] = [
    ({}, None, 20),
    ({"agent_name": "agent1"}, None, 20),
    ({"agent_name": "agent1", "task_type": "type1"}, None, 20),
    ({"task_type": "type0"}, None, 20),
    ({"agent_name": "nobody"}, None, 0),
    ({"tenant": "acme"}, None, 20),
    ({"tenant": "acme", "agent_name": "agent2"}, None, 20),
    ({"tenant": "nobody"}, None, 0),
    ({"since": BEGIN + timedelta(seconds=100), "until": BEGIN + timedelta(seconds=110)}, None, 10),
    ({}, "common", 20),
    ({}, "rare", 2),
    ({"agent_name": "agent1"}, "rare", 1),
]


@pytest.mark.usefixtures("filled")
def test_they_read_about_what_they_return(connection: Observer) -> None:
    """With the statistics of an empty table, and with those of a full one."""
    for _ in range(2):
        for filters, text, expected in CASES:
            wanted = json.dumps(filters, default=str)
            asked = {"wanted": wanted, "text": text, "before": None, "limit": 20}
            row = connection.fetch_one(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement('agent_events')}", asked)
            plan = row["QUERY PLAN"][0]["Plan"]
            assert plan["Actual Rows"] == expected, (filters, text)
            blocks = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
            looked_at = 1000 * 7 if text else 0  # the newest ones, one by one
            assert blocks <= MOST_BLOCKS + looked_at, (filters, text, blocks)
        connection.execute("ANALYZE callboard.agent_events")


@pytest.mark.usefixtures("filled")
def test_pages_over_http(database_url: str) -> None:
    with RunningServer() as server:
        query = {"text": "common", "agent_name": "agent1", "to": "2030-01-01T00:05:00Z", "limit": "40"}
        seen: list[str] = []
        while True:
            page = server.client.get("/api/v1/agent-events", params=query).json()
            seen += [item["task_id"] for item in page["items"]]
            if page["next_cursor"] is None:
                break
            query["cursor"] = page["next_cursor"]
        assert seen == [f"tq_{n}" for n in range(299, 0, -1) if n % 3 == 1]
        assert page["items"][0]["created_at"][-1] == "Z"
        for wrong in ({"limit": "0"}, {"text": ""}, {"from": "yesterday"}, {"cursor": "x"}, {"q": "common"}):
            refused = server.client.get("/api/v1/agent-events", params=wrong)
            assert (refused.status_code, refused.json()["error"]) == (422, "invalid-parameter"), wrong
        backwards = {"from": "2030-01-02T00:00:00Z", "to": "2030-01-01T00:00:00Z"}
        assert server.client.get("/api/v1/agent-events", params=backwards).json()["field"] == "to"


def test_on_the_command_line(agent_worker: AgentWorker) -> None:
    agent_worker.complete("a lighthouse [bold]")
    done = callboard("agent-events", "--text", "lighthouse", "--from", "2020-01-01")
    assert done.returncode == 0, done
    assert "a lighthouse [bold]" in " ".join(done.stdout.split())
    assert "No events." in callboard("agent-events", "--agent", "nobody").stdout
