-- Goes on with a workflow: the orchestrator. It keeps nothing between two calls. Called under the lock of the workflow's
-- row, in the transaction that ends or revives one of its tasks (follow_task), that creates it, or that decides an
-- approval: whatever is committed leaves the workflow advanced.
--
-- No step starts while 10,000 tasks of the workflow live, or after 64 MB of inputs in one call; the ends of those tasks
-- start the rest. A transaction that took longer than a statement may would be undone, and so would be each repetition of
-- it: the end that starts the tasks, or the cancel of them all.
CREATE OR REPLACE FUNCTION callboard.advance_workflow(its_id text) RETURNS void LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
    w record;
    startable text[];
    its_key text;
    tasks_left bigint;
    bytes_left bigint := 67108864;
BEGIN
    PERFORM FROM callboard.workflows x WHERE x.id = its_id FOR NO KEY UPDATE;
    PERFORM callboard.sync_steps(its_id);
    LOOP
        SELECT x.status, x.failure_threshold, x.escalation IS NOT NULL AS escalates INTO w
        FROM callboard.workflows x WHERE x.id = its_id;
        IF w.status <> 'running' THEN
            RETURN;
        END IF;
        IF callboard.count_failures(its_id) >= w.failure_threshold THEN
            PERFORM callboard.move_workflow(its_id, CASE WHEN w.escalates THEN 'escalated' ELSE 'failed' END,
                                            callboard.describe_failures(its_id));
            RETURN;
        END IF;
        startable := ARRAY(
            SELECT s.key FROM callboard.workflow_steps s
            WHERE s.workflow_id = its_id AND s.status = 'pending' AND NOT EXISTS (
                SELECT FROM unnest(s.after) AS a (key)
                WHERE (SELECT d.status FROM callboard.workflow_steps d WHERE d.workflow_id = its_id AND d.key = a.key)
                      IS DISTINCT FROM 'completed')
            ORDER BY s.position);
        EXIT WHEN startable = '{}';
        tasks_left := 10000 - (SELECT count(*) FROM (
            SELECT FROM callboard.tasks t
            WHERE t.workflow_id = its_id AND t.status NOT IN (/*terminal*/) AND t.status <> 'dead' LIMIT 10000) AS l);
        IF tasks_left = 0 THEN
            RETURN;
        END IF;
        FOREACH its_key IN ARRAY startable LOOP
            PERFORM callboard.start_step(its_id, its_key);
            -- A step that could not start counts before the next one starts.
            EXIT WHEN EXISTS (SELECT FROM callboard.workflow_steps s
                              WHERE s.workflow_id = its_id AND s.key = its_key AND s.status = 'dead');
            SELECT tasks_left - count(*), bytes_left - coalesce(sum(octet_length(t.payload::text)), 0)
            INTO tasks_left, bytes_left
            FROM callboard.tasks t WHERE t.workflow_id = its_id AND t.step = its_key;
            IF tasks_left <= 0 OR bytes_left <= 0 THEN
                RETURN;
            END IF;
        END LOOP;
    END LOOP;
    IF NOT callboard.workflow_lives(its_id) THEN
        PERFORM callboard.finish_workflow(its_id);
    END IF;
END $$;

-- Returns whether a task of the workflow lives, or an approval waits.
CREATE OR REPLACE FUNCTION callboard.workflow_lives(its_id text) RETURNS boolean LANGUAGE plpgsql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp  -- views call it for roles that may read nothing else
SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
BEGIN
    RETURN EXISTS (SELECT FROM callboard.tasks t
                   WHERE t.workflow_id = its_id AND t.status NOT IN (/*terminal*/) AND t.status <> 'dead')
        OR EXISTS (SELECT FROM callboard.workflow_steps s WHERE s.workflow_id = its_id AND s.status = 'waiting');
END $$;

-- Counts the steps that failed, and the dead tasks that were submitted into the workflow without a step.
CREATE OR REPLACE FUNCTION callboard.count_failures(its_id text) RETURNS bigint LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
BEGIN
    RETURN (SELECT count(*) FROM callboard.workflow_steps s
            WHERE s.workflow_id = its_id AND s.status IN ('dead', 'rejected', 'expired'))
         + (SELECT count(*) FROM callboard.tasks t
            WHERE t.workflow_id = its_id AND t.step IS NULL AND t.status = 'dead');
END $$;

-- Returns the failures in words, at most ten of them.
CREATE OR REPLACE FUNCTION callboard.describe_failures(its_id text) RETURNS text LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
BEGIN
    RETURN (
        SELECT string_agg(f.words, '; ' ORDER BY f.place) FILTER (WHERE f.place <= 10)
               || CASE WHEN count(*) > 10 THEN format('; and %s more', count(*) - 10) ELSE '' END
        FROM (
            SELECT row_number() OVER (ORDER BY e.position, e.words) AS place, e.words FROM (
                SELECT s.position, CASE s.status
                    WHEN 'dead' THEN format('step %s is dead: %s', s.key, left(s.error ->> 'message', 200))
                    WHEN 'rejected' THEN format('step %s was rejected by %s', s.key, s.decided_by)
                    ELSE format('step %s has expired', s.key) END AS words
                FROM callboard.workflow_steps s
                WHERE s.workflow_id = its_id AND s.status IN ('dead', 'rejected', 'expired')
                UNION ALL
                SELECT NULL, format('task %s is dead: %s', t.id, left(t.error ->> 'message', 200)) FROM callboard.tasks t
                WHERE t.workflow_id = its_id AND t.step IS NULL AND t.status = 'dead'
            ) AS e
        ) AS f);
END $$;

-- Ends a workflow in which nothing lives and nothing can start: fewer steps have failed than the threshold allows.
CREATE OR REPLACE FUNCTION callboard.finish_workflow(its_id text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    canceled text;
    blocked text;
    only_canceled boolean;
BEGIN
    SELECT string_agg(s.key, ', ' ORDER BY s.position) FILTER (WHERE s.status = 'canceled'),
           string_agg(s.key, ', ' ORDER BY s.position) FILTER (WHERE s.status = 'pending'),
           bool_and(s.status IN ('canceled', 'pending'))
    INTO canceled, blocked, only_canceled
    FROM callboard.workflow_steps s WHERE s.workflow_id = its_id;
    IF only_canceled THEN
        PERFORM callboard.move_workflow(its_id, 'canceled', 'all its steps were canceled');
    ELSE
        PERFORM callboard.move_workflow(its_id, 'completed', nullif(concat_ws(
            '; ', callboard.describe_failures(its_id), 'canceled: ' || left(canceled, 1000),
            'could not run: ' || left(blocked, 1000)), ''));
    END IF;
END $$;
