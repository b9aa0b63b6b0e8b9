-- Inserts a run of a project: its task, with the gates of the item that is next now, and its row in runs. The caller has
-- locked the project, and has seen that it has no live run.
-- Which item the run takes is decided when it starts (begin_run). If that is another one, and its agent needs other gates,
-- the worker puts the task back with those.
CREATE OR REPLACE FUNCTION callboard.insert_run(
    p callboard.projects, its_id text, its_mode text, its_item text, its_priority integer, its_queue text, attempts integer
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    next callboard.project_items;
    keys text[];
    limits integer[];
    line text;
    rank_priority smallint;
BEGIN
    next := callboard.next_item(p.id, its_item);
    rank_priority := coalesce(its_priority, next.priority, 2);
    SELECT coalesce(array_agg(g.key ORDER BY g.key COLLATE "C"), '{}'),
           coalesce(array_agg(g.max_concurrent ORDER BY g.key COLLATE "C"), '{}')
    INTO keys, limits
    FROM (SELECT k.key, k.max_concurrent FROM unnest(next.gates, next.gate_limits) AS k (key, max_concurrent)
          UNION ALL
          SELECT 'tenant:' || p.tenant, NULL WHERE p.tenant IS NOT NULL) AS g;
    line := callboard.line_at(keys);
    WITH added AS (
        INSERT INTO callboard.tasks (id, actor, queue, status, priority, rank, tenant, payload, max_attempts, available_at,
                                     gates, gate_limits, waiting_gate, waiting_reason, created_at, updated_at)
        VALUES (its_id, 'project_run', its_queue, CASE WHEN line IS NULL THEN 'queued' ELSE 'waiting' END, rank_priority,
                callboard.entry_rank(its_queue, 'primary', rank_priority, p.tenant), p.tenant,
                jsonb_build_object('project_id', p.id), attempts, callboard.now(), keys, limits, line,
                CASE WHEN line IS NOT NULL THEN 'others stand in line before it' END, callboard.now(), callboard.now())
        RETURNING id, status, last_event, waiting_gate
    )
    /*log_move*/ jsonb_strip_nulls(jsonb_build_object('to', m.status, 'gate', m.waiting_gate)) || '{"from": null}'
    FROM added m;
    INSERT INTO callboard.runs (id, project_id, mode, priority, requested_item, created_at)
    VALUES (its_id, p.id, its_mode, its_priority, its_item, callboard.now());
END $$;

-- The item that a run would take now: the one that it was started for, or else the first pending one.
CREATE OR REPLACE FUNCTION callboard.next_item(its_project text, requested text) RETURNS callboard.project_items
LANGUAGE sql STABLE AS $$
    SELECT i FROM callboard.project_items i
    WHERE i.project_id = its_project AND i.status = 'pending' AND (requested IS NULL OR i.id = requested)
    ORDER BY i.priority, i.position LIMIT 1
$$;
