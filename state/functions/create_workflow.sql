-- Inserts a workflow with its steps, and starts it. Its id comes from the caller: a repetition after a lost connection
-- changes nothing.
CREATE OR REPLACE FUNCTION callboard.create_workflow(definition jsonb) RETURNS void LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
DECLARE
    its_id text := definition ->> 'id';
BEGIN
    INSERT INTO callboard.workflows (id, name, tenant, failure_threshold, escalation, created_at, updated_at)
    SELECT its_id, d.name, d.tenant, d.failure_threshold, d.escalation, callboard.now(), callboard.now()
    FROM jsonb_to_record(definition) AS d (name text, tenant text, failure_threshold integer, escalation jsonb)
    ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    INSERT INTO callboard.events (task_id, n, kind, data, at)
    VALUES (its_id, 1, 'status', '{"from": null, "to": "running"}', callboard.now());
    PERFORM callboard.insert_steps(its_id, definition -> 'steps', 0);
    PERFORM callboard.advance_workflow(its_id);
END $$;

-- Adds a step to a running workflow, and starts it if it can start. Returns the status of the workflow: the step was
-- added if it is running, or if an earlier try has done so. No row: there is no such workflow.
CREATE OR REPLACE FUNCTION callboard.add_step(its_id text, step jsonb) RETURNS TABLE (status text, added boolean)
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
#variable_conflict use_column
DECLARE
    its_status text;
    last_position integer;
BEGIN
    PERFORM FROM callboard.workflows w WHERE w.id = its_id FOR NO KEY UPDATE;
    SELECT w.status INTO its_status FROM callboard.workflows w WHERE w.id = its_id;
    IF its_status IS NULL THEN
        RETURN;
    ELSIF EXISTS (SELECT FROM callboard.workflow_steps s WHERE s.workflow_id = its_id AND s.key = step ->> 'key') THEN
        RETURN QUERY SELECT its_status, true;
        RETURN;
    ELSIF its_status = 'running' THEN
        SELECT max(s.position) INTO last_position FROM callboard.workflow_steps s WHERE s.workflow_id = its_id;
        PERFORM callboard.insert_steps(its_id, jsonb_build_array(step), last_position + 1);
        PERFORM callboard.log_workflow(its_id, 'step',
                                       jsonb_build_object('step', step ->> 'key', 'from', NULL, 'to', 'pending'));
        PERFORM callboard.advance_workflow(its_id);
    END IF;
    RETURN QUERY SELECT its_status, its_status = 'running';
END $$;

CREATE OR REPLACE FUNCTION callboard.insert_steps(its_id text, steps jsonb, first_position integer) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO callboard.workflow_steps (workflow_id, key, position, kind, after, agent_name, task_type, input, for_each,
                                          sources, priority, max_attempts, queue, gates, gate_limits, expires_seconds)
    SELECT its_id, s.key, first_position + (e.place - 1)::integer, s.kind, s.after, s.agent_name, s.task_type, s.input,
           s.for_each, s.sources, s.priority, s.max_attempts, s.queue, s.gates, s.gate_limits, s.expires_seconds
    FROM jsonb_array_elements(steps) WITH ORDINALITY AS e (step, place),
         jsonb_to_record(e.step) AS s (
            key text, kind text, after text[], agent_name text, task_type text, input jsonb, for_each jsonb, sources jsonb,
            priority smallint, max_attempts integer, queue text, gates text[], gate_limits integer[],
            expires_seconds double precision);
END $$;
