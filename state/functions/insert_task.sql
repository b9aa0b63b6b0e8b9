-- Inserts a task that the database itself starts: a step of a workflow, a run of a project, an embedding job, a tick of a
-- schedule. As a submit does (submit.sql), with its first event: queued, scheduled, or in line at one of its gates, among
-- them that of its tenant. The caller fills in id, actor, queue, priority, tenant, payload and max_attempts, and where they
-- apply target, max_age, available_at, gates, gate_limits, workflow_id, step and branch. A rank or a waiting_gate that it
-- gives counts. `origin`: what the first event says of where the task comes from.
CREATE OR REPLACE FUNCTION callboard.insert_task(t callboard.tasks, origin jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    SELECT coalesce(array_agg(g.key ORDER BY g.key COLLATE "C"), '{}'),
           coalesce(array_agg(g.max_concurrent ORDER BY g.key COLLATE "C"), '{}')
    INTO t.gates, t.gate_limits
    FROM (SELECT k.key, k.max_concurrent FROM unnest(t.gates, t.gate_limits) AS k (key, max_concurrent)
          UNION
          SELECT 'tenant:' || t.tenant, NULL WHERE t.tenant IS NOT NULL) AS g;
    t.available_at := coalesce(t.available_at, callboard.now());
    IF t.available_at > callboard.now() THEN
        t.status := 'scheduled';
    ELSE
        t.waiting_gate := coalesce(t.waiting_gate, callboard.line_at(t.gates));
        t.status := CASE WHEN t.waiting_gate IS NULL THEN 'queued' ELSE 'waiting' END;
    END IF;
    WITH added AS (
        INSERT INTO callboard.tasks (id, actor, queue, status, priority, rank, tenant, target, workflow_id, step, branch,
                                     payload, max_attempts, available_at, max_age, expires_at, gates, gate_limits,
                                     waiting_gate, waiting_reason, created_at, updated_at)
        VALUES (t.id, t.actor, t.queue, t.status, t.priority,
                coalesce(t.rank, callboard.entry_rank(t.queue, 'primary', t.priority, t.tenant)), t.tenant, t.target,
                t.workflow_id, t.step, t.branch, t.payload, t.max_attempts, t.available_at, t.max_age,
                t.available_at + make_interval(secs => t.max_age), t.gates, t.gate_limits, t.waiting_gate,
                CASE WHEN t.waiting_gate IS NOT NULL THEN 'others stand in line before it' END, callboard.now(),
                callboard.now())
        RETURNING id, status, last_event, waiting_gate
    )
    /*log_move*/ CASE WHEN m.waiting_gate IS NULL THEN jsonb_build_object('from', NULL, 'to', m.status) || origin
                      ELSE jsonb_build_object('from', NULL, 'to', m.status, 'gate', m.waiting_gate) || origin END
    FROM added m;
END $$;

CREATE OR REPLACE FUNCTION callboard.insert_task(t callboard.tasks) RETURNS void LANGUAGE sql
AS $$ SELECT callboard.insert_task(t, '{}') $$;
