"""Finding tasks by words: what is looked at, and that a search ends, also beside a long history."""

import json
from typing import Any

import pytest

from state import delete, submit, submit_many
from state.access.caller import Caller
from state.database.statements import statement
from state.tasks import search
from state.tasks.new_task import NewTask
from state.tasks.search import get_listed_tasks, search_tasks, split_words
from tests.support.builders import TaskBuilder
from tests.support.observer import Observer

HISTORY = """
SET session_replication_role = replica;  -- no triggers
INSERT INTO callboard.tasks (id, actor, queue, status, priority, rank, payload, max_attempts, available_at, created_at,
                             updated_at, finished_at)
SELECT 'tq_' || lpad(to_hex(g), 32, '0'), 'old', 'one', 'completed', 2, 1, jsonb_build_object('n', g, 'title', 'Whale'),
       3, now(), now(), now(), now()
FROM generate_series(1, 20000) g;
SET session_replication_role = origin;
"""


def find(text: str, **filters: Any) -> list[str]:
    return search_tasks(text, **filters).ids


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a b", ["a", "b"]),
        ('"a b" c', ["a b", "c"]),
        ('say "', ["say", '"']),
        ('""  ', []),
        ("\t x\n", ["x"]),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert split_words(text) == words


def test_what_is_searched(make_task: TaskBuilder) -> None:
    dead = make_task("dead", target="Depot/7", tenant="acme", payload={"title": "Der große Wal", "n": 12})
    other = make_task("queued", payload={"title": "a shark"}, dedup_key="daily")
    error = dead.error
    assert error is not None
    for text in (dead.task_id, dead.task_id[-8:], "depot/7", "ACME", "GROSSE wal".replace("SS", "ß"), '"große wal"'):
        assert find(text) == [dead.task_id], text
    for text in (error["type"], error["message"], "12 wal"):
        assert find(text) == [dead.task_id], text
    assert find("shark wal") == []
    assert find('"wal große"') == []
    assert find("daily") == [other.task_id]
    assert find("quick") == [other.task_id, dead.task_id]
    assert find("quick", status="dead") == [dead.task_id]
    assert find("%") == find("_x") == []  # no patterns
    assert find("   ") == [other.task_id, dead.task_id]


def test_large_payloads_are_left_out() -> None:
    submit("quick", {"text": "needle " + "x" * 40_000})
    assert find("needle") == []
    small = submit("quick", {"text": "needle " + "x" * 20_000}).task_id
    assert find("needle") == [small]


def test_hidden_tasks_and_those_of_other_tenants_are_not_found(make_task: TaskBuilder) -> None:
    task = make_task("completed", tenant="acme")
    for text in ("quick", task.task_id):
        assert find(text, caller=Caller("reader", tenant="other")) == []
        assert find(text, caller=Caller("reader", tenant="acme")) == [task.task_id]
    delete(task.task_id)
    assert find("quick") == find(task.task_id) == []


def test_a_whole_id_is_found_wherever_it_is(connection: Observer) -> None:
    connection.execute(HISTORY)
    oldest = f"tq_{1:032x}"
    found = search_tasks(oldest.upper().replace("TQ", "tq"))
    assert (found.ids, found.searched, found.position) == ([oldest], 1, None)
    assert find(oldest, status="completed") == [oldest]
    assert find(oldest, status="dead") == find(f"{oldest} shark") == find(f"tq_{0:032x}") == []
    assert find(oldest, before=oldest) == []
    assert [task.task_id for task in get_listed_tasks([oldest, "tq_none"])] == [oldest]


def test_a_search_ends_and_can_go_on(connection: Observer, monkeypatch: pytest.MonkeyPatch) -> None:
    connection.execute(HISTORY)
    ids = [f"tq_{n:032x}" for n in range(20_000, 0, -1)]
    first = search_tasks("whale", limit=3)
    assert (first.ids, first.searched, first.position) == (ids[:3], 3, ids[2])
    assert search_tasks("whale", before=first.position, limit=3).ids == ids[3:6]
    nothing = search_tasks("shark")
    assert (nothing.ids, nothing.searched, nothing.position) == ([], search.MOST, ids[search.MOST - 1])
    last = search_tasks("whale", before=ids[-3])
    assert (last.ids, last.position) == (ids[-2:], None)
    monkeypatch.setattr(search, "PATIENCE", 0.0)
    tired = search_tasks("shark", before=ids[9])
    assert (tired.searched, tired.position) == (250, ids[259])


def test_a_search_reads_about_what_it_looks_at(connection: Observer) -> None:
    connection.execute(HISTORY)
    asked = {"wanted": json.dumps({"actor": "old"}), "words": '["shark"]', "before": None, "limit": 250}
    row = connection.fetch_one(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement('tasks_with_words')}", asked)
    plan = row["QUERY PLAN"][0]["Plan"]
    assert plan["Actual Rows"] == 250
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] < 250 * 12, json.dumps(plan)[:3000]


def test_many_are_found_once_each() -> None:
    submit_many([NewTask("quick", {"title": f"whale {n}"}) for n in range(600)])
    found: list[str] = []
    before = None
    while True:
        step = search_tasks("whale", before=before, limit=71)
        found += step.ids
        if (before := step.position) is None:
            break
    assert len(found) == len(set(found)) == 600
