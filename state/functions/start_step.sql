-- Starts a step whose predecessors are all completed: opens an approval, or inserts the task of the step, with for_each
-- one for each element. A step whose input cannot be made is dead, without a task. Called under the lock of the workflow.
CREATE OR REPLACE FUNCTION callboard.start_step(its_workflow text, its_key text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    s callboard.workflow_steps;
    problem text;
    inputs jsonb[];
    ids text[];
BEGIN
    SELECT x.* INTO s FROM callboard.workflow_steps x WHERE x.workflow_id = its_workflow AND x.key = its_key;
    IF s.kind = 'approval' THEN
        UPDATE callboard.workflow_steps x SET expires_at = callboard.now() + make_interval(secs => x.expires_seconds)
        WHERE x.workflow_id = its_workflow AND x.key = its_key
        RETURNING x.expires_at INTO s.expires_at;
        PERFORM callboard.move_step(its_workflow, its_key, 'waiting',
                                    jsonb_strip_nulls(jsonb_build_object('expires_at', s.expires_at)));
        RETURN;
    END IF;
    SELECT m.inputs, m.problem INTO inputs, problem FROM callboard.make_inputs(s) AS m;
    IF problem IS NOT NULL THEN
        PERFORM callboard.move_step(its_workflow, its_key, 'dead', jsonb_build_object('error', jsonb_build_object(
            'type', 'InvalidStepInput', 'category', 'permanent', 'message', problem)));
        RETURN;
    END IF;
    ids := callboard.insert_tasks(s, inputs);
    UPDATE callboard.workflow_steps x SET branches = cardinality(ids), started_at = callboard.now()
    WHERE x.workflow_id = its_workflow AND x.key = its_key;
    PERFORM callboard.move_step(
        its_workflow, its_key, CASE WHEN ids = '{}' THEN 'completed' ELSE 'running' END,
        jsonb_build_object('task_ids', ids[:20], 'tasks', cardinality(ids)));
END $$;

-- Inserts the tasks of a step. Returns their ids in the order of the inputs.
CREATE OR REPLACE FUNCTION callboard.insert_tasks(s callboard.workflow_steps, inputs jsonb[]) RETURNS text[]
LANGUAGE plpgsql AS $$
DECLARE
    t callboard.tasks;
    first_rank bigint;
    ids text[] := '{}';
BEGIN
    t.actor := 'agent';
    t.queue := s.queue;
    t.priority := s.priority;
    t.tenant := (SELECT w.tenant FROM callboard.workflows w WHERE w.id = s.workflow_id);
    t.workflow_id := s.workflow_id;
    t.step := s.key;
    t.max_attempts := s.max_attempts;
    t.gates := s.gates;
    t.gate_limits := s.gate_limits;
    t.waiting_gate := CASE WHEN s.gates <> '{}' THEN callboard.line_at(s.gates) END;
    first_rank := callboard.entry_rank(s.queue, 'primary', s.priority, t.tenant);
    FOR place IN 1..cardinality(inputs) LOOP
        t.id := callboard.new_id('tq_');
        t.branch := place - 1;
        t.rank := CASE WHEN place = 1 THEN first_rank ELSE (first_rank / 2 + t.branch) * 2 + 1 END;
        t.payload := jsonb_build_object('agent_name', s.agent_name, 'task_type', s.task_type, 'input', inputs[place]);
        IF place > 100 THEN  -- more than claims should have to look at
            t.waiting_gate := coalesce(t.waiting_gate, s.gates[1]);
        END IF;
        PERFORM callboard.insert_task(t);
        ids := ids || t.id;
    END LOOP;
    RETURN ids;
END $$;
