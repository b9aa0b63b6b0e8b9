"""Lists of tasks beside a long history: right and bounded for every filter and every pair of filters."""

import hashlib
import json
import re
import threading
from typing import Any

import pytest

from state import cancel, delete, list_dead_letters, list_tasks, retry
from state.access.caller import Caller
from state.tasks.reads import _FILTERS
from state.transitions import STATUSES
from tests.support.builders import TaskBuilder
from tests.support.observer import Observer

MANY = 20_000
LIMIT = 50
MOST_BLOCKS = 3_000  # that a list may look at: a look at all tasks would be seven times as many

HISTORY = """
SET session_replication_role = replica;  -- no triggers
INSERT INTO callboard.tasks (id, actor, queue, lane, status, priority, rank, tenant, target, workflow_id, payload,
                             error, max_attempts, available_at, created_at, updated_at, finished_at, hidden_at)
SELECT 'tq_' || lpad(g::text, 8, '0'), 'actor' || g % 7, 'queue' || g % 7 % 3,
       CASE WHEN g % 11 = 0 THEN 'retry' ELSE 'primary' END,
       CASE WHEN g % 500 < 5 THEN (ARRAY['queued', 'waiting', 'scheduled', 'running', 'paused'])[1 + g % 5]
            WHEN g % 10 = 5 THEN 'dead' WHEN g % 10 = 6 THEN 'canceled' ELSE 'completed' END, 2, 1,
       CASE WHEN g % 4 > 0 THEN 'tenant' || g % 3 END, CASE WHEN g % 5 = 0 THEN 'target' || g % 4 END,
       CASE WHEN g % 6 = 0 THEN 'wf_' || g % 9 END,
       CASE WHEN g % 7 = 0 THEN jsonb_build_object('agent_name', 'agent' || g % 3, 'task_type', 'type' || g % 2)
            WHEN g % 7 = 1 THEN jsonb_build_object('workflow_run_id', 'run' || g % 8)
            WHEN g % 7 = 2 THEN '{"task_type": "type1"}'  -- of no agent
            ELSE '{}' END,
       CASE WHEN g % 10 = 5 AND g % 500 >= 5 THEN jsonb_build_object('type', 'Error' || g % 4) END,
       3, now(), now(), now(), now(), CASE WHEN g % 17 = 0 AND g % 500 >= 5 THEN now() END
FROM generate_series(1, MANY) g;
INSERT INTO callboard.leases (task_id, epoch, worker_id, claim_number, started_at, renewed_at, expires_at)
SELECT id, epoch, 'w1', 1, now(), now(), now() + interval '1 hour' FROM callboard.tasks WHERE status = 'running';
SET session_replication_role = origin;
"""

VALUES = {
    "status": [*STATUSES, "none"],
    "actor": ["actor3", "none"],
    "queue": ["queue1", "none"],
    "lane": ["retry"],
    "tenant": ["tenant2", "none", ""],
    "target": ["target3", "none"],
    "error_type": ["Error1", "none"],
    "workflow_id": ["wf_3", "none"],
    "agent_name": ["agent1", "none"],
    "task_type": ["type1", "none"],
    "workflow_run_id": ["run5", "none"],
    "fingerprint": [hashlib.sha256(b"Error1\n").hexdigest()[:16], "none"],
}
SCOPES = (None, "tenant1", "none")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    """The tasks of the history, as read from the first database that has it; it is the same in all of them."""
    return []


@pytest.fixture
def history(database_url: str, connection: Observer, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    connection.execute(HISTORY.replace("MANY", str(MANY)))
    if not rows:
        rows += connection.execute(
            """SELECT id, status, actor, queue, lane, tenant, target, error ->> 'type' AS error_type, workflow_id,
                      payload ->> 'agent_name' AS agent_name, payload ->> 'workflow_run_id' AS workflow_run_id,
                      CASE WHEN payload ? 'agent_name' THEN payload ->> 'task_type' END AS task_type,
                      CASE WHEN status = 'dead' THEN callboard.error_fingerprint(error) END AS fingerprint
               FROM callboard.tasks WHERE hidden_at IS NULL ORDER BY id DESC"""
        ).fetchall()
    return rows


def find(rows: list[dict[str, Any]], scope: str | None, wanted: dict[str, str], before: str = "u") -> list[str]:
    """By looking at all of them."""
    asked = [*wanted.items(), *([("tenant", scope)] if scope else [])]
    return [row["id"] for row in rows if row["id"] < before and all(row[name] == value for name, value in asked)]


def count_blocks(connection: Observer, wanted: dict[str, str | None]) -> int:
    query = "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) SELECT id FROM callboard.newest_tasks(%s, NULL, %s)"
    lines = [row["QUERY PLAN"] for row in connection.execute(query, [json.dumps(wanted), LIMIT]).fetchall()]
    first = next((line for line in lines if "Buffers: shared" in line), "")  # none: no look at all
    return sum(map(int, re.findall(r"(?:hit|read)=(\d+)", first)))


def test_all_filters_are_tried() -> None:
    assert set(VALUES) == set(_FILTERS)


@pytest.mark.parametrize("name", VALUES)
def test_every_filter_and_every_pair_of_filters(name: str, history: list[dict[str, Any]], connection: Observer) -> None:
    later = list(VALUES)[list(VALUES).index(name) + 1 :]
    asked = [{name: value} for value in VALUES[name]]
    asked += [{name: value, other: it} for value in VALUES[name] for other in later for it in VALUES[other]]
    for wanted in asked:
        for scope in SCOPES:
            caller = Caller("operator", tenant=scope)
            expected = find(history, scope, wanted)[:LIMIT]
            found = [task.task_id for task in list_tasks(limit=LIMIT, caller=caller, **wanted)]
            assert found == expected, (wanted, scope)
        for scope in (None, "tenant1"):
            blocks = count_blocks(connection, {**wanted, "scope": scope})
            assert blocks <= MOST_BLOCKS, (wanted, scope, blocks)


def test_the_blocks_of_a_look_at_all_tasks_would_show(history: list[dict[str, Any]], connection: Observer) -> None:
    connection.execute("DROP INDEX callboard.tasks_listed")
    assert count_blocks(connection, {"actor": "none"}) > MOST_BLOCKS


@pytest.mark.parametrize(
    "wanted",
    [{}, {"actor": "actor3"}, {"status": "dead", "lane": "retry"}, {"target": "target3", "workflow_id": "wf_3"}],
)
def test_pages_have_every_task_once(wanted: dict[str, Any], history: list[dict[str, Any]]) -> None:
    expected = find(history, None, wanted)[:2000]
    found: list[str] = []
    before = None
    while len(found) < len(expected):
        page = [task.task_id for task in list_tasks(before=before, limit=371, **wanted)]
        assert page
        found += page
        before = page[-1]
    assert found[: len(expected)] == expected


def test_dead_letters(history: list[dict[str, Any]]) -> None:
    for wanted in ({}, {"actor": "actor3"}, {"error_type": "Error1", "tenant": "tenant2"}, {"task_type": "type1"}):
        found = list_dead_letters(limit=LIMIT, **wanted)  # type: ignore[arg-type]
        assert [task.task_id for task in found] == find(history, None, {"status": "dead", **wanted})[:LIMIT]
    assert list_dead_letters(older_than=3600.0) == []


def test_what_happens_between_two_pages(make_task: TaskBuilder) -> None:
    ids = [make_task("dead").task_id for _ in range(6)][::-1]
    first = [task.task_id for task in list_tasks(status="dead", limit=2)]
    assert first == ids[:2]
    retry(ids[2])  # not dead any more
    delete(ids[3])
    retry(ids[0])  # a page that was read is not read again
    assert [task.task_id for task in list_tasks(status="dead", before=first[-1], limit=2)] == ids[4:]
    assert [task.task_id for task in list_tasks(status="queued")] == [ids[0], ids[2]]
    assert [task.task_id for task in list_tasks(before=first[-1])] == [ids[2], *ids[4:]]


def test_a_task_that_moves_is_on_every_list_once(make_task: TaskBuilder) -> None:
    """Whatever its status is at the moment of the list."""
    ids = [make_task("queued").task_id for _ in range(20)]
    moving = threading.Event()
    wrong: list[list[str]] = []

    def look() -> None:
        while not moving.is_set():
            found = [task.task_id for task in list_tasks(actor="quick")]
            if len(found) != len(set(found)) or not set(ids) <= set(found):
                wrong.append(found)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for _ in range(5):
            for status in ("completed", "dead", "running", "paused"):
                make_task(status)
        for task_id in ids:
            cancel(task_id)
    finally:
        moving.set()
        looking.join()
    assert wrong == []


@pytest.mark.parametrize("status", STATUSES)
def test_tasks_that_verbs_have_made(status: Any, make_task: TaskBuilder, connection: Observer) -> None:
    task = make_task(status, tenant="acme")
    caller = Caller("operator", tenant="acme")

    def list_ids(**wanted: Any) -> list[str]:
        return [each.task_id for each in list_tasks(**wanted)]

    assert list_ids(status=status, caller=caller) == [task.task_id]
    assert list_ids(status=status, actor=task.actor, queue=task.queue, lane=task.lane, tenant="acme") == [task.task_id]
    assert list_ids(caller=Caller("operator", tenant="other")) == []
