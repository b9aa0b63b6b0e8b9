"""A database in which every admin view has rows, made with plain inserts: no worker has to run for it."""

from tests.support.observer import Observer

_TASK = """
INSERT INTO callboard.tasks (
    id, actor, queue, status, priority, rank, payload, max_attempts, available_at, created_at, updated_at, target)
VALUES (%(id)s, %(actor)s, 'default', 'queued', 2, 1, %(payload)s, 3, now(), now(), now(), %(target)s)
"""
_MOVE = "UPDATE callboard.tasks SET status = %(status)s, error = %(error)s, finished_at = %(at)s WHERE id = %(id)s"

_ROWS = """
INSERT INTO callboard.events (task_id, n, kind, data, at) VALUES
    ('tq_dead', 1, 'status', '{"from": null, "to": "queued"}', now()),
    ('tq_dead', 2, 'status', '{"from": "running", "to": "dead"}', now()),
    ('tq_z', 1, 'status', '{"from": null, "to": "queued"}', now()),
    ('tq_agent', 2, 'status', '{"from": "running", "to": "dead"}', now());
INSERT INTO callboard.attempts (task_id, epoch, attempt, worker_id, outcome, error, started_at, finished_at) VALUES
    ('tq_dead', 1, 1, 'w1', 'failed', '{"type": "Boom", "message": "no"}', now(), now()),
    ('tq_agent', 1, 1, 'w1', 'failed', '{"type": "Boom", "message": "no"}', now(), now());
INSERT INTO callboard.workers (id, host, boot_id, pid_namespace, pid, queues, actors, threads, started_at, seen_at)
    VALUES ('w1', 'here', 'b', 'n', 1, '{default}', '{quick}', 8, now(), now());
INSERT INTO callboard.leases (task_id, epoch, worker_id, claim_number, started_at, renewed_at, expires_at)
    VALUES ('tq_slow', 1, 'w1', 1, now() - interval '1 hour', now(), now() + interval '1 hour');
INSERT INTO callboard.gates (key, paused) VALUES ('provider:local', true);
INSERT INTO callboard.gate_changes (gate, at, origin, by, changes)
    VALUES ('provider:local', now(), 'operator', 'ann', '{"paused": [false, true]}');
INSERT INTO callboard.sandboxes (
    id, task_id, epoch, worker_id, host, boot_id, pid_namespace, pid, kind, workspace, started_at)
    VALUES ('sb_1', 'tq_slow', 1, 'w1', 'here', 'b', 'n', 1, 'process', '/x', now());
INSERT INTO callboard.generations (id, task_id, provider, action_type, status, request, created_at, updated_at)
    VALUES ('gn_1', 'tq_z', 'local', 'txt2img', 'completed', '{}', now(), now());
INSERT INTO callboard.contents (id, generation_id, position, sha256, size, media_type, created_at)
    VALUES ('gc_1', 'gn_1', 0, 'ab', 1, 'image/png', now());
INSERT INTO callboard.agent_events (id, task_id, agent_name, task_type, text, input, job_id, created_at)
    VALUES ('ae_1', 'tq_agent', 'text', 'run', 'words', '{}', 'tq_z', now());
INSERT INTO callboard.workflow_steps (workflow_id, key, position, kind, status, started_at)
    VALUES ('wf_1', 'ask', 0, 'approval', 'waiting', now());
INSERT INTO callboard.projects (id, name, created_at, updated_at) VALUES ('pj_1', 'Spring', now(), now());
INSERT INTO callboard.runs (id, project_id, mode, created_at, ended_at, outcome, reason)
    VALUES ('tq_z', 'pj_1', 'single', now(), now(), 'completed', 'done');
INSERT INTO callboard.schedules (
    id, name, cron, timezone, catch_up, overlap, jitter_seconds, actor, payload, options, queue, priority, max_attempts,
    next_at, created_at, updated_at)
    VALUES ('sc_1', 'nightly', '0 3 * * *', 'UTC', 'one', 'allow', 0, 'quick', '{}', '{}', 'default', 2, 3,
            now(), now(), now());
INSERT INTO callboard.schedule_runs (schedule_id, n, tick, outcome, reason, created_at)
    VALUES ('sc_1', 1, now(), 'skipped', 'busy', now());
INSERT INTO callboard.webhook_deliveries (delivery_id, task_id, n) VALUES ('tq_dead', 'tq_z', 1);
INSERT INTO callboard.api_keys (id, name, role, secret_hash, created_at)
    VALUES ('ck_1', 'ann', 'reader', 'x', now() - interval '1 year');
INSERT INTO callboard.task_queue_metrics (minute, actor, agent_name, task_type, tasks_created)
    VALUES (date_trunc('minute', now()) - interval '5 minutes', 'quick', '', '', 1);
INSERT INTO callboard.tenant_metrics VALUES ('a', date_trunc('minute', now()) - interval '2 days', 1, 0, 0, 0, 0, 0, 0);
UPDATE callboard.metrics_progress SET measured_until = now();
INSERT INTO dramatiq.queue (message_id, queue_name, state, message)
    VALUES ('00000000-0000-0000-0000-000000000001', 'plain', 'queued', '{}');
"""

_HISTORY = """
ALTER TABLE callboard.tasks DISABLE TRIGGER USER;
INSERT INTO callboard.tasks (
    id, actor, queue, status, priority, rank, payload, max_attempts, available_at, created_at, updated_at, finished_at)
SELECT 'tq_' || i, 'quick', 'default', 'completed', 2, i, '{}', 3, at, at, at, at
FROM generate_series(1, 20000) AS i, LATERAL (SELECT now() - interval '30 days' + i * interval '1 minute' AS at) AS x;
INSERT INTO callboard.events (task_id, n, kind, data, at)
SELECT t.id, n, 'status', '{"from": "running", "to": "completed"}', t.created_at
FROM callboard.tasks t, generate_series(1, 4) AS n ORDER BY t.created_at;
INSERT INTO callboard.attempts (task_id, epoch, attempt, worker_id, outcome, started_at, finished_at)
SELECT t.id, 1, 1, 'w', 'completed', t.created_at, t.created_at FROM callboard.tasks t;
INSERT INTO callboard.leases (task_id, epoch, worker_id, claim_number, started_at, renewed_at, expires_at)
VALUES ('tq_1', 1, 'w', 1, now(), now(), now());
ANALYZE callboard.tasks, callboard.events, callboard.attempts, callboard.leases;
"""


def fill_history(connection: Observer) -> None:
    """Many tasks that ended long ago."""
    connection.execute(_HISTORY)


def fill_database(connection: Observer) -> None:
    """Among others a running task without its slot and history, so that admin.invariants has rows as well."""
    connection.execute(
        "INSERT INTO callboard.workflows (id, name, created_at, updated_at) VALUES ('wf_1', 'review', now(), now())"
    )
    for task_id, actor, status in (
        ("tq_dead", "quick", "dead"),
        ("tq_agent", "agent", "dead"),
        ("tq_blocked", "quick", "paused"),
        ("tq_slow", "quick", "running"),
        ("tq_wait", "quick", "waiting"),
        ("tq_z", "quick", "completed"),
    ):
        payload = '{"agent_name": "text", "task_type": "run"}' if actor == "agent" else "{}"
        target = "site" if status == "paused" else None
        connection.execute(_TASK, {"id": task_id, "actor": actor, "payload": payload, "target": target})
        if status in ("dead", "completed"):
            connection.execute("UPDATE callboard.tasks SET status = 'running', epoch = 1 WHERE id = %s", [task_id])
        error = '{"type": "Boom", "message": "no"}' if status == "dead" else None
        at = "now" if status in ("dead", "completed") else None
        connection.execute(_MOVE, {"id": task_id, "status": status, "error": error, "at": at})
    connection.execute("UPDATE callboard.tasks SET waiting_gate = 'provider:local' WHERE id = 'tq_wait'")
    connection.execute(_ROWS)
