-- Writes how executions ended: one statement and one commit for all that a process has finished since the last one. A
-- task changes only for the worker that holds its epoch; a task that is not in the result had left the worker before.
-- The caller sends the outcomes in the order of their ids, so that all sessions lock tasks in the same order. Without
-- `wait`, a task that another session has locked, or whose workflow or project it has locked, is left as it is and
-- returned as busy: one row that is locked for a while must not hold up the others.
CREATE OR REPLACE FUNCTION callboard.settle(worker text, outcomes jsonb, wait boolean) RETURNS TABLE (
    id text, epoch integer, actor text, queue text, status text, gates text[], busy boolean
) LANGUAGE plpgsql
-- Rows are found by their keys, whatever the statistics say: they are old when a burst has just arrived.
SET enable_sort = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    settled integer;
BEGIN
    IF wait THEN
        PERFORM FROM jsonb_to_recordset(outcomes) AS i (id text COLLATE "C", epoch integer), LATERAL (
            SELECT FROM callboard.tasks t
            WHERE t.id = i.id AND t.epoch = i.epoch AND /*lock_parent*/
            FOR NO KEY UPDATE) AS locked;
    END IF;
    RETURN QUERY
    WITH input AS (
        SELECT i.* FROM jsonb_to_recordset(outcomes) AS i (
            id text COLLATE "C", epoch integer, outcome text, result jsonb, error jsonb, retry_seconds double precision)
    ), mine AS MATERIALIZED (
        SELECT t.*, i.outcome, i.result, i.error, coalesce(i.retry_seconds, 0) AS retry_seconds,
               CASE
                   WHEN i.outcome = 'completed' THEN 'completed'
                   WHEN t.cancel_requested IN ('cancel', 'force') THEN 'canceled'
                   -- A permanent failure, or the last one, is not undone by a pause.
                   WHEN t.cancel_requested = 'pause'
                        AND (i.outcome = 'released' OR i.retry_seconds IS NOT NULL AND u.used < t.max_attempts)
                        THEN 'paused'
                   WHEN i.outcome = 'released' THEN 'queued'
                   WHEN i.outcome = 'failed' AND i.retry_seconds IS NOT NULL AND u.used < t.max_attempts
                        AND (t.expires_at IS NULL
                             OR callboard.now() + make_interval(secs => i.retry_seconds) < t.expires_at)
                        THEN 'scheduled'
                   ELSE 'dead'
               END AS next,
               u.used,
               -- Who has asked for the stop is in the newest request of the history.
               CASE WHEN t.cancel_requested IS NOT NULL THEN callboard.stop_asked_by(t.id) END AS asked_by
        FROM input i, LATERAL (
            SELECT t.id, t.cancel_requested, t.attempt, t.max_attempts, t.expires_at, t.worker_id, t.started_at, t.gates
            FROM callboard.tasks t
            WHERE t.id = i.id AND t.epoch = i.epoch AND t.status = 'running'
              AND t.worker_id = settle.worker AND /*try_lock_parent*/
            FOR NO KEY UPDATE SKIP LOCKED
        ) t, LATERAL (
            -- A probe tries the service for all tasks: its failure costs it no attempt, not even the last one.
            SELECT t.attempt - (i.outcome = 'failed' AND t.gates <> '{}' AND EXISTS (
                SELECT FROM callboard.gates g
                WHERE g.key = ANY (t.gates) AND g.probe_task = t.id AND g.probe_epoch = i.epoch))::integer AS used
        ) u
    ), moved AS (
        UPDATE callboard.tasks t
        SET status = m.next,
            result = CASE WHEN m.next = 'completed' THEN m.result END,
            error = CASE m.outcome WHEN 'failed' THEN m.error WHEN 'completed' THEN NULL ELSE t.error END,
            attempt = CASE WHEN m.outcome = 'released' AND m.next <> 'canceled' THEN t.attempt - 1 ELSE m.used END,
            lane = CASE WHEN m.outcome = 'failed' THEN 'retry' ELSE t.lane END,
            available_at = CASE WHEN m.next = 'scheduled'
                THEN callboard.now() + make_interval(secs => m.retry_seconds) ELSE t.available_at END,
            finished_at = CASE WHEN m.next IN (/*finished*/) THEN callboard.now() END,
            progress = CASE
                WHEN m.next = 'completed' THEN jsonb_build_object(
                    'percent', 100, 'message', 'Completed', 'updated_at', callboard.now(), 'elapsed_ms',
                    floor(extract(epoch FROM callboard.now() - t.started_at) * 1000)::bigint)
                WHEN m.next IN ('queued', 'scheduled') THEN NULL
                WHEN m.next IN ('canceled', 'paused') THEN jsonb_build_object(
                    'percent', 0, 'elapsed_ms', floor(extract(epoch FROM callboard.now() - t.started_at) * 1000)::bigint)
                    || coalesce(t.progress, '{}')
                    || jsonb_build_object('message', concat_ws(' ', 'Job was interrupted by user', m.asked_by),
                                          'updated_at', callboard.now())
                ELSE t.progress END,
            worker_id = NULL,
            cancel_requested = NULL,
            /*count_move*/
        FROM mine m
        WHERE t.id = m.id
        RETURNING /*moved_task*/, t.attempt, t.available_at, m.outcome, m.error, m.worker_id, m.started_at,
                  m.attempt AS nth, CASE WHEN m.next IN ('canceled', 'paused') THEN m.next ELSE m.outcome END AS ended_as,
                  m.asked_by, CASE WHEN m.next IN ('canceled', 'paused') THEN t.progress ->> 'message' END AS message
    ), /*end_execution*/, judged AS (
        -- Only results that say something about the service count for its breaker.
        INSERT INTO callboard.gate_results (gate, task_id, epoch, failed, at)
        SELECT g.key, m.id, m.epoch, m.outcome = 'failed', callboard.now()
        FROM moved m, unnest(m.gates) AS k (key) JOIN callboard.gates g ON g.key = k.key
        WHERE g.breaker_threshold IS NOT NULL
          AND (m.outcome = 'completed'
               OR m.outcome = 'failed' AND m.error ->> 'type' IN ('ServiceUnavailable', 'ServerError', 'NetworkTimeout'))
    ), logged AS (
        /*log_move*/ jsonb_strip_nulls(jsonb_build_object(
            'from', 'running', 'to', m.status, 'attempt', m.attempt,
            'reason', CASE WHEN m.status = 'queued' THEN 'released' END,
            'available_at', CASE WHEN m.status = 'scheduled' THEN m.available_at END,
            'message', m.message, 'by', CASE WHEN m.message IS NOT NULL THEN m.asked_by END,
            'error', m.error - 'traceback'))
        FROM moved m
    )
    SELECT m.id, m.epoch, m.actor, m.queue, m.status, m.gates, false FROM moved m;
    GET DIAGNOSTICS settled = ROW_COUNT;
    IF settled < jsonb_array_length(outcomes) THEN
        RETURN QUERY
        SELECT i.id, i.epoch, NULL, NULL, NULL, NULL::text[], true
        FROM jsonb_to_recordset(outcomes) AS i (id text COLLATE "C", epoch integer)
        JOIN callboard.tasks t ON t.id = i.id AND t.epoch = i.epoch
        WHERE t.status = 'running' AND t.worker_id = settle.worker;
    END IF;
END $$;
