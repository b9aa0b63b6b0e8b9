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

-- Inserts the tasks of a step, as submit.sql does. Returns their ids in the order of the inputs.
CREATE OR REPLACE FUNCTION callboard.insert_tasks(s callboard.workflow_steps, inputs jsonb[]) RETURNS text[]
LANGUAGE plpgsql AS $$
DECLARE
    its_tenant text := (SELECT w.tenant FROM callboard.workflows w WHERE w.id = s.workflow_id);
    first_rank bigint := callboard.entry_rank(s.queue, 'primary', s.priority, its_tenant);
    ids text[];
    line text := CASE WHEN s.gates <> '{}' THEN callboard.line_at(s.gates) END;
BEGIN
    WITH added AS (
        INSERT INTO callboard.tasks (id, actor, queue, status, priority, rank, tenant, workflow_id, step, branch, payload,
                                     max_attempts, available_at, gates, gate_limits, waiting_gate, waiting_reason,
                                     created_at, updated_at)
        SELECT callboard.new_id('tq_'), 'agent', s.queue, CASE WHEN i.gate IS NULL THEN 'queued' ELSE 'waiting' END,
               s.priority, CASE WHEN i.branch = 0 THEN first_rank ELSE (first_rank / 2 + i.branch) * 2 + 1 END,
               its_tenant, s.workflow_id, s.key, i.branch,
               jsonb_build_object('agent_name', s.agent_name, 'task_type', s.task_type, 'input', i.input),
               s.max_attempts, callboard.now(), s.gates, s.gate_limits, i.gate,
               CASE WHEN i.gate IS NOT NULL THEN 'others stand in line before it' END, callboard.now(), callboard.now()
        FROM (SELECT u.input, u.place::integer - 1 AS branch,
                     -- More than claims should have to look at join the line at once.
                     coalesce(line, CASE WHEN u.place > 100 THEN s.gates[1] END) AS gate
              FROM unnest(inputs) WITH ORDINALITY AS u (input, place)) AS i
        RETURNING id, status, last_event, waiting_gate, branch
    ), logged AS (
        /*log_move*/ CASE WHEN m.waiting_gate IS NULL THEN jsonb_build_object('from', NULL, 'to', m.status)
                          ELSE jsonb_build_object('from', NULL, 'to', m.status, 'gate', m.waiting_gate) END
        FROM added m
    )
    SELECT array_agg(a.id ORDER BY a.branch) INTO ids FROM added a;
    RETURN coalesce(ids, '{}');
END $$;
