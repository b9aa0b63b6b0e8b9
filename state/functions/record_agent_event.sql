-- Records what an agent has done, and queues the embedding of it. (Called by follow_task, in the transaction that
-- completes the task.) Nothing here can fail because of what an agent was asked or has answered: names and text are cut
-- before an index sees them. The job's queue and attempts are those that the actor declares; its gates are those of the
-- tenant, as only the worker knows which provider it will use: it asks the actor again before the code starts.
CREATE OR REPLACE FUNCTION callboard.record_agent_event(t callboard.tasks) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    event_id text := callboard.new_id('ae_');
    job callboard.tasks;
    agent text := left(coalesce(t.payload ->> 'agent_name', ''), 200);
    type text := left(coalesce(t.payload ->> 'task_type', ''), 200);
    asked jsonb := coalesce(t.payload -> 'input', t.payload);
    answer jsonb := t.result;
    title text := '';
BEGIN
    job.id := callboard.new_id('tq_');
    IF t.actor = 'project_run' THEN
        IF t.payload ->> 'item_id' IS NULL THEN  -- it had nothing to do
            RETURN;
        END IF;
        -- Agent, title and input are in the payload since the run has taken its item.
        title := left(coalesce(t.payload ->> 'title', ''), 500) || E'\n';
        IF t.result ->> 'item_id' IS NOT NULL THEN  -- else ctx.transaction() has completed it with the agent's own result
            answer := t.result -> 'result';
        END IF;
    END IF;
    INSERT INTO callboard.agent_events
        (id, task_id, workflow_id, tenant, agent_name, task_type, text, input, result, job_id, created_at)
    VALUES (event_id, t.id, t.workflow_id, t.tenant, agent, type,
            agent || ' ' || type || E'\n' || title || callboard.describe_json(asked, 3000) || E'\n'
                || callboard.describe_json(callboard.choose_answer(answer), 16000),
            asked, answer, job.id, callboard.now())
    ON CONFLICT (task_id) DO NOTHING;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    job.actor := 'embedding';
    job.queue := 'language';
    job.priority := 3;
    job.tenant := t.tenant;
    job.payload := jsonb_build_object('event_id', event_id);
    job.max_attempts := 4;
    PERFORM callboard.insert_task(job);
END $$;

-- Returns what people would read of a result: its summary, text or report if it has one of them, else all of it.
CREATE OR REPLACE FUNCTION callboard.choose_answer(result jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(
        (SELECT result -> k.key FROM unnest('{summary,text,report}'::text[]) WITH ORDINALITY AS k (key, place)
         WHERE jsonb_typeof(result -> k.key) = 'string' AND result ->> k.key <> '' ORDER BY k.place LIMIT 1),
        result)
$$;

-- Returns JSON as text: an object as lines of key and value, anything else as it is. Values are cut before they are put
-- together: a result may be large.
CREATE OR REPLACE FUNCTION callboard.describe_json(value jsonb, most integer) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF jsonb_typeof(value) = 'object' THEN
        RETURN left(coalesce((SELECT string_agg(left(p.key || ': ' || coalesce(p.value, 'null'), most), E'\n')
                              FROM (SELECT * FROM jsonb_each_text(value) LIMIT 200) AS p), ''), most);
    END IF;
    RETURN coalesce(left(value #>> '{}', most), '');
END $$;
