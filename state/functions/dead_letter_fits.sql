-- Whether a dead letter fits a filter: {actor, agent_name, task_type, error_type, tenant, died_by}, all optional. scope: the
-- tenant of the caller; without: works that are left out, {actor} or {agent_name, task_type}.
CREATE OR REPLACE FUNCTION callboard.dead_letter_fits(t callboard.tasks, wanted jsonb) RETURNS boolean LANGUAGE sql STABLE
AS $$
    SELECT t.hidden_at IS NULL
       AND (wanted ->> 'actor' IS NULL OR t.actor = wanted ->> 'actor')
       AND (wanted ->> 'agent_name' IS NULL OR t.payload ->> 'agent_name' = wanted ->> 'agent_name')
       AND (wanted ->> 'task_type' IS NULL OR t.payload ->> 'task_type' = wanted ->> 'task_type')
       AND (wanted ->> 'error_type' IS NULL OR t.error ->> 'type' = wanted ->> 'error_type')
       AND (wanted ->> 'tenant' IS NULL OR t.tenant = wanted ->> 'tenant')
       AND (wanted ->> 'scope' IS NULL OR t.tenant = wanted ->> 'scope')
       AND (wanted ->> 'died_by' IS NULL OR t.finished_at <= (wanted ->> 'died_by')::timestamptz)
       AND (wanted -> 'without' IS NULL OR NOT EXISTS (
            SELECT FROM jsonb_to_recordset(wanted -> 'without') AS w (actor text, agent_name text, task_type text)
            WHERE t.actor = w.actor OR t.payload ->> 'agent_name' = w.agent_name AND t.payload ->> 'task_type' = w.task_type))
$$;
