"""Lists of workflows, projects and items read about as much as they return, beside any number of others."""

import json
import re
from typing import Any

import pytest

from state.database.statements import statement
from tests.support.observer import Observer

MANY = 20_000
MOST_BLOCKS = 100  # each of the tables has many more

FILL = """
SET session_replication_role = replica;  -- no triggers
INSERT INTO callboard.workflows (id, name, tenant, status, created_at, updated_at)
SELECT 'wf_' || lpad(g::text, 8, '0'), 'w', CASE g % 3 WHEN 0 THEN NULL WHEN 1 THEN 'odd' ELSE 'even' END,
       CASE WHEN g % 3 = 1 THEN 'completed' ELSE 'failed' END, now(), now() FROM generate_series(1, MANY) g;
INSERT INTO callboard.projects (id, name, tenant, created_at, updated_at)
SELECT 'pr_' || lpad(g::text, 8, '0'), 'p', CASE WHEN g > 1 THEN 'many' ELSE 'rare' END, now(), now()
FROM generate_series(1, MANY) g;
INSERT INTO callboard.project_items (id, project_id, position, title, agent_name, task_type, input, priority, status,
                                     run_id, created_at, updated_at, finished_at)
SELECT 'it_' || g, 'pr_00000001', g, 't', 'a', 'b', '{}', 2, CASE WHEN g = 1 THEN 'pending' ELSE 'completed' END,
       CASE WHEN g > 1 THEN 'r' END, now(), now(), CASE WHEN g > 1 THEN now() END FROM generate_series(1, MANY) g;
SET session_replication_role = origin;
ANALYZE callboard.workflows, callboard.projects, callboard.project_items;
"""

CASES: list[tuple[str, dict[str, Any], int]] = [
    ("workflows", {"status": "running"}, 0),
    ("workflows", {"tenant": "nobody"}, 0),
    ("workflows", {"scope": "even", "status": "failed"}, 10),
    ("projects", {"tenant": "nobody"}, 0),
    ("project_items", {"project_id": "pr_00000001", "status": "failed", "after": 0}, 0),
    ("project_items", {"project_id": "pr_00000001", "status": "pending", "after": 0}, 1),
]


@pytest.fixture
def filled(connection: Observer) -> None:
    connection.execute(FILL.replace("MANY", str(MANY)))


def test_they_read_what_they_return(filled: None, connection: Observer) -> None:
    for name, wanted, expected in CASES:
        text = statement(name)
        asked = {**dict.fromkeys(re.findall(r"%\((\w+)\)s", text)), "limit": 10, **wanted}
        row = connection.fetch_one(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {text}", asked)
        plan = row["QUERY PLAN"][0]["Plan"]
        assert plan["Actual Rows"] == expected, (name, wanted)
        blocks = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
        assert blocks <= MOST_BLOCKS, (name, wanted, json.dumps(plan)[:3000])
