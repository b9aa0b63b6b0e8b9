"""Groups of dead letters beside many of them: what they read is bounded, and tasks that live pay nothing for them."""

import json
import re
from typing import Any

import pytest

from state import dismiss_many, list_dead_letters, list_error_groups
from state.access.caller import Caller
from state.database.statements import statement
from tests.support.observer import Observer

MANY = 50_000
COUNTED = 20_000  # of a page, as in the function error_groups
FEW_BLOCKS = 2_000  # a look at all dead letters reads some 10,000

# Half of them in one group; 100 small groups; a few of a tenant.
HISTORY = """
SET session_replication_role = replica;  -- no triggers
INSERT INTO callboard.tasks (id, actor, queue, status, priority, rank, tenant, payload, error, max_attempts, attempt,
                             available_at, created_at, updated_at, finished_at)
SELECT 'tq_' || lpad(g::text, 32, '0'), 'actor' || g % 2, 'queue', 'dead', 2, 1,
       CASE WHEN g % 1000 = 1 THEN 'acme' END, '{}',
       jsonb_build_object('type', 'Boom', 'message', CASE
           WHEN g % 2 = 0 THEN 'item ' || g || ' is gone'
           ELSE translate((g / 2 % 100)::text, '0123456789', 'abcdefghij') || ' is gone' END),
       3, 3, now(), now(), now(), now() - (MANY - g) * interval '1 second'
FROM generate_series(1, MANY) g;
SET session_replication_role = origin;
"""


@pytest.fixture(params=[False, True], ids=["never analyzed", "analyzed"])
def history(request: pytest.FixtureRequest, connection: Observer) -> None:
    connection.execute(HISTORY.replace("MANY", str(MANY)))
    if request.param:
        connection.execute("ANALYZE callboard.tasks")


def count_blocks(connection: Observer, query: str, parameters: dict[str, Any]) -> int:
    explained = connection.execute(f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) {query}", parameters).fetchall()
    first = next(row["QUERY PLAN"] for row in explained if "Buffers: shared" in row["QUERY PLAN"])
    return sum(map(int, re.findall(r"(?:hit|read)=(\d+)", first)))


def test_what_is_read_is_bounded(history: None, connection: Observer) -> None:
    big, *small = sorted(list_error_groups(limit=100), key=lambda group: -group.tasks)
    assert len(small) == 99
    assert (big.normalized_message, big.counted_all) == ("item <n> is gone", False)
    assert big.tasks + sum(group.tasks for group in small) <= COUNTED
    [whole] = list_error_groups(fingerprint=small[0].fingerprint)
    assert (whole.tasks, whole.counted_all) == (250, True)
    [alone] = list_error_groups(fingerprint=big.fingerprint)
    assert (alone.tasks, alone.counted_all) == (10_000, False)
    assert alone.first_seen < alone.last_seen
    assert 1000 < (alone.trend[-1] or 0) <= 1800
    assert alone.trend[0] is None
    groups = "SELECT FROM callboard.error_groups(%(wanted)s, NULL, 100)"
    for wanted, most in (
        ({}, 2 * COUNTED),
        ({"fingerprint": small[0].fingerprint}, FEW_BLOCKS),
        ({"scope": "acme"}, FEW_BLOCKS),
        ({"actor": "none"}, FEW_BLOCKS),
        ({"scope": "none"}, 50),
    ):
        blocks = count_blocks(connection, groups, {"wanted": json.dumps(wanted)})
        assert blocks <= most, (wanted, blocks)
    newest = "SELECT FROM callboard.newest_tasks(%(wanted)s, NULL, 100)"
    for wanted in (
        {"fingerprint": big.fingerprint},
        {"fingerprint": "none"},
        {"fingerprint": big.fingerprint, "scope": "x"},
    ):
        assert count_blocks(connection, newest, {"wanted": json.dumps(wanted)}) <= FEW_BLOCKS, wanted
    step = {"fingerprint": big.fingerprint, "kind": -(2**63), "after": "", "limit": 500, "wanted": "{}"}
    assert count_blocks(connection, statement("dead_letter_ids_of_group"), step) <= FEW_BLOCKS
    counted = {"fingerprint": small[0].fingerprint, "wanted": "{}"}
    assert count_blocks(connection, statement("dead_letter_groups"), counted) <= FEW_BLOCKS
    assert dismiss_many(fingerprint=small[0].fingerprint).tasks == 250
    assert list_error_groups(fingerprint=small[0].fingerprint) == []


def test_the_index_is_what_bounds_it(connection: Observer, history: None) -> None:
    connection.execute("DROP INDEX callboard.tasks_dead_tenant")
    groups = "SELECT FROM callboard.error_groups(%(wanted)s, NULL, 100)"
    assert count_blocks(connection, groups, {"wanted": '{"scope": "none"}'}) > FEW_BLOCKS
    assert list_dead_letters(limit=1, caller=Caller("reader", tenant="none")) == []


def test_only_a_task_that_dies_is_entered(connection: Observer) -> None:
    found = connection.execute(
        "SELECT indexdef FROM pg_indexes WHERE schemaname = 'callboard' AND indexdef LIKE '%error_fingerprint%'"
    ).fetchall()
    assert len(found) == 2
    assert all("(status = 'dead'::text)" in row["indexdef"] for row in found)
