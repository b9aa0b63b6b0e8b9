-- Puts dead letters, and retries that are scheduled, back into the queue at once, in the retry lane. A dead letter
-- gets as many attempts, and as much time, as it had at first; epoch, attempts and history go on counting. With an
-- edited payload it is another piece of work: the checkpoint of the old one is kept in the history only.
-- A dead letter with a dedup key takes the key again. If another unfinished task holds the key, the dead letter stays
-- dead and is returned with the holder; so is a run of a project if another run is in its place (run_holders). With a
-- filter (see task_fits), tasks that do not fit it any more, or that another session has locked, are left out; so are retries
-- that are scheduled, unless they are among its `places`.
CREATE OR REPLACE FUNCTION callboard.revive_tasks(
    ids text[], why text, edited jsonb, wanted jsonb, by_whom text
) RETURNS TABLE (
    id text, epoch integer, actor text, queue text, before text, status text, gates text[], dedup_key text, holder text
) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
    keyed record;
    its_holder text;
    with_key text[] := '{}';
    locked text[];
    dead_runs text[];
    blocked record;
BEGIN
    FOR keyed IN
        SELECT t.id, t.epoch, t.actor, t.queue, t.gates, t.tenant, t.dedup_key,
               -- Of several tasks with one key the first gets it, and holds it although it is not queued yet.
               row_number() OVER (PARTITION BY coalesce(t.tenant, ''), t.actor, t.dedup_key ORDER BY t.id) = 1 AS first
        FROM callboard.tasks t
        WHERE t.id = ANY (ids) AND t.status = 'dead' AND t.dedup_key IS NOT NULL AND t.hidden_at IS NULL
          AND (wanted IS NULL OR callboard.task_fits(t, wanted))
        ORDER BY coalesce(t.tenant, '') COLLATE "C", t.actor COLLATE "C", t.dedup_key COLLATE "C", t.id
    LOOP
        IF keyed.first THEN
            its_holder := callboard.take_dedup_key(keyed.tenant, keyed.actor, keyed.dedup_key, keyed.id, NULL);
        END IF;
        IF its_holder = keyed.id THEN
            with_key := with_key || keyed.id;
        ELSE
            RETURN QUERY SELECT keyed.id, keyed.epoch, keyed.actor, keyed.queue, 'dead', 'dead', keyed.gates,
                                keyed.dedup_key, its_holder;
        END IF;
    END LOOP;
    IF wanted IS NULL THEN
        locked := ARRAY(SELECT t.id FROM callboard.tasks t
                        WHERE t.id = ANY (ids) AND (t.status = 'dead' OR t.status = 'scheduled' AND t.lane = 'retry')
                          AND /*lock_parent*/
                        ORDER BY t.id FOR NO KEY UPDATE);
    ELSE
        locked := ARRAY(SELECT t.id FROM callboard.tasks t
                        WHERE t.id = ANY (ids)
                          AND (t.status = 'dead'
                               OR t.status = 'scheduled' AND t.lane = 'retry' AND wanted -> 'places' ? 'scheduled:retry')
                          AND callboard.task_fits(t, wanted)
                          AND /*try_lock_parent*/
                        ORDER BY t.id FOR NO KEY UPDATE SKIP LOCKED);
    END IF;
    -- Read after the locks, among them those of the projects.
    dead_runs := ARRAY(SELECT t.id FROM callboard.tasks t
                       WHERE t.id = ANY (locked) AND t.actor = 'project_run' AND t.status = 'dead' AND t.hidden_at IS NULL);
    FOR blocked IN
        SELECT t.id, t.epoch, t.actor, t.queue, t.gates, t.dedup_key, h.holder
        FROM callboard.run_holders(dead_runs) AS h JOIN callboard.tasks t ON t.id = h.id
        WHERE dead_runs <> '{}'
    LOOP
        locked := array_remove(locked, blocked.id);
        RETURN QUERY SELECT blocked.id, blocked.epoch, blocked.actor, blocked.queue, 'dead', 'dead', blocked.gates,
                            blocked.dedup_key, blocked.holder;
    END LOOP;
    RETURN QUERY
    WITH mine AS MATERIALIZED (
        SELECT t.id, t.status, t.payload, t.checkpoint, t.gates, t.queue, 'retry' AS lane, t.priority, t.tenant,
               row_number() OVER (PARTITION BY t.queue, t.priority, t.tenant ORDER BY t.id) - 1 AS follower
        FROM callboard.tasks t
        WHERE t.id = ANY (locked) AND t.hidden_at IS NULL
          AND (t.status = 'dead' AND (t.dedup_key IS NULL OR t.id = ANY (with_key))
               OR t.status = 'scheduled' AND t.lane = 'retry')
    ), /*rank_mine*/, moved AS (
        UPDATE callboard.tasks t
        SET status = 'queued',
            lane = 'retry',
            rank = m.rank,
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
            /*leave_line*/,
            last_event = t.last_event + CASE WHEN edited IS NULL THEN 1 ELSE 2 END,
            updated_at = callboard.now()
        FROM ranked m
        WHERE t.id = m.id
        RETURNING t.id, t.epoch, t.actor, t.queue, m.gates, t.status, t.last_event, m.status AS before, t.dedup_key,
                  m.payload AS old_payload, t.payload, m.checkpoint
    ), noted AS (
        INSERT INTO callboard.events (task_id, n, kind, at, data)
        SELECT m.id, m.last_event - 1, 'payload', callboard.now(),
               jsonb_build_object('before', m.old_payload, 'after', m.payload, 'checkpoint', m.checkpoint)
        FROM moved m WHERE edited IS NOT NULL
    ), logged AS (
        /*log_move*/ jsonb_strip_nulls(jsonb_build_object(
            'from', m.before, 'to', m.status, 'reason', why, 'by', by_whom)) FROM moved m
    )
    SELECT /*move_result*/, m.dedup_key, NULL FROM moved m;
END $$;
