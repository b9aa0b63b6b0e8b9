-- Dead letters, and retries that wait for their time, go back to the queue at once, in the retry lane. A dead letter gets
-- as many attempts, and as much time, as it had at first; epoch, attempts and history go on counting. An edited payload
-- makes it another piece of work: what was saved for the old one is kept in the history only.
CREATE OR REPLACE FUNCTION callboard.revive(ids text[], why text, edited jsonb DEFAULT NULL) RETURNS TABLE (
    id text, epoch integer, actor text, queue text, before text, status text, gates text[]
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH mine AS MATERIALIZED (
        SELECT t.id, t.status, t.payload, t.checkpoint, t.gates
        FROM callboard.tasks t
        WHERE t.id = ANY (ids) AND t.hidden_at IS NULL
          AND (t.status = 'dead' OR t.status = 'scheduled' AND t.lane = 'retry')
        ORDER BY t.id
        FOR NO KEY UPDATE
    ), moved AS (
        UPDATE callboard.tasks t
        SET status = 'queued',
            lane = 'retry',
            rank = callboard.entry_rank(t.queue, 'retry', t.priority, t.tenant),
            payload = coalesce(edited -> 'payload', t.payload),
            checkpoint = CASE WHEN edited IS NULL THEN t.checkpoint ELSE '{}' END,
            gates = CASE WHEN edited IS NULL THEN t.gates
                         ELSE ARRAY(SELECT jsonb_array_elements_text(edited -> 'gates')) END,
            gate_limits = CASE WHEN edited IS NULL THEN t.gate_limits
                               ELSE ARRAY(SELECT l::integer FROM jsonb_array_elements_text(edited -> 'gate_limits') AS l) END,
            max_attempts = CASE WHEN m.status = 'dead' THEN t.attempt + t.max_attempts - t.attempts_before
                                ELSE t.max_attempts END,
            attempts_before = CASE WHEN m.status = 'dead' THEN t.attempt ELSE t.attempts_before END,
            available_at = callboard.now(),
            expires_at = CASE WHEN m.status = 'dead' THEN callboard.now() + make_interval(secs => t.max_age)
                              ELSE t.expires_at END,
            finished_at = NULL,
            progress = NULL,
            woken_for = NULL,
            bounces = 0,
            last_event = t.last_event + CASE WHEN edited IS NULL THEN 1 ELSE 2 END,
            updated_at = callboard.now()
        FROM mine m
        WHERE t.id = m.id
        RETURNING t.id, t.epoch, t.actor, t.queue, m.status AS before, t.status, m.gates, t.last_event,
                  m.payload AS old_payload, t.payload, m.checkpoint
    ), noted AS (
        INSERT INTO callboard.events (task_id, n, kind, data, at)
        SELECT m.id, m.last_event - 1, 'payload',
               jsonb_build_object('before', m.old_payload, 'after', m.payload, 'checkpoint', m.checkpoint), callboard.now()
        FROM moved m WHERE edited IS NOT NULL
    ), logged AS (
        INSERT INTO callboard.events (task_id, n, kind, data, at)
        SELECT m.id, m.last_event, 'status',
               jsonb_build_object('from', m.before, 'to', 'queued', 'reason', why), callboard.now()
        FROM moved m
    )
    SELECT m.id, m.epoch, m.actor, m.queue, m.before, m.status, m.gates FROM moved m;
END $$;
