-- Adds an event to the history of a workflow. Called under the lock of its row.
CREATE OR REPLACE FUNCTION callboard.log_workflow(its_id text, its_kind text, its_data jsonb) RETURNS void LANGUAGE plpgsql
AS $$
BEGIN
    WITH counted AS (
        UPDATE callboard.workflows w SET last_event = w.last_event + 1, updated_at = callboard.now()
        WHERE w.id = its_id
        RETURNING w.last_event
    )
    INSERT INTO callboard.events (task_id, n, kind, data, at)
    SELECT its_id, c.last_event, its_kind, its_data, callboard.now() FROM counted c;
END $$;

CREATE OR REPLACE FUNCTION callboard.move_workflow(its_id text, next text, why text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM callboard.move_workflow(its_id, next, why, NULL);
END $$;

-- by_whom: the person who has asked for it; NULL: nobody, or nobody knows.
CREATE OR REPLACE FUNCTION callboard.move_workflow(its_id text, next text, why text, by_whom text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    before text;
    to_whom jsonb;
BEGIN
    SELECT w.status, CASE WHEN next = 'escalated' THEN w.escalation END INTO before, to_whom
    FROM callboard.workflows w WHERE w.id = its_id;
    UPDATE callboard.workflows w
    SET status = next, reason = why, finished_at = CASE WHEN next <> 'running' THEN callboard.now() END
    WHERE w.id = its_id;
    PERFORM callboard.log_workflow(its_id, 'status', jsonb_strip_nulls(jsonb_build_object(
        'from', before, 'to', next, 'reason', why, 'escalation', to_whom, 'by', by_whom)));
END $$;

-- `details` become a part of the event; its `error` is kept in the step as well.
CREATE OR REPLACE FUNCTION callboard.move_step(its_workflow text, its_key text, next text, details jsonb) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    before text;
BEGIN
    SELECT s.status INTO before FROM callboard.workflow_steps s WHERE s.workflow_id = its_workflow AND s.key = its_key;
    UPDATE callboard.workflow_steps s
    SET status = next,
        error = details -> 'error',
        started_at = CASE WHEN next IN ('running', 'waiting') THEN coalesce(s.started_at, callboard.now()) ELSE s.started_at END,
        finished_at = CASE WHEN next NOT IN ('pending', 'running', 'waiting') THEN callboard.now() END
    WHERE s.workflow_id = its_workflow AND s.key = its_key;
    PERFORM callboard.log_workflow(its_workflow, 'step',
        jsonb_build_object('step', its_key, 'from', before, 'to', next) || details);
END $$;
