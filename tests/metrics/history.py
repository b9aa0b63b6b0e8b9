"""Many finished tasks with their history, made by SQL: one after the other at an even pace."""

from datetime import datetime

from tests.support.observer import Observer

_TASKS = """
INSERT INTO callboard.tasks (id, actor, queue, status, priority, rank, payload, max_attempts, attempt, epoch,
                             last_event, available_at, created_at, started_at, finished_at, updated_at)
SELECT 'tq_' || lpad(to_hex(n), 32, '0'), CASE n %% 3 WHEN 0 THEN 'agent' WHEN 1 THEN 'quick' ELSE 'slow' END, 'one',
       'completed', 2, n, '{"agent_name": "writer", "task_type": "draft"}', 3, 1, 1, 3, at, at, at, at, at
FROM (SELECT n, %(start)s::timestamptz + n * %(pace)s * interval '1 second' AS at
      FROM generate_series(1, %(tasks)s) n) AS t
"""
_EVENTS = """
INSERT INTO callboard.events (task_id, n, kind, data, at)
SELECT t.id, m.n, 'status', m.data::jsonb, t.created_at
FROM callboard.tasks t, (VALUES
    (1, '{"from": null, "to": "queued"}'), (2, '{"from": "queued", "to": "running", "attempt": 1}'),
    (3, '{"from": "running", "to": "completed", "attempt": 1}')) AS m (n, data)
ORDER BY t.id, m.n
"""


def make_history(connection: Observer, start: datetime, tasks: int, pace: float) -> None:
    """Makes `tasks` tasks, one every `pace` seconds from `start` on."""
    with connection.transaction():
        connection.execute("SET LOCAL session_replication_role = replica")  # without triggers
        connection.execute(_TASKS, {"start": start, "pace": pace, "tasks": tasks})
        connection.execute(_EVENTS)
