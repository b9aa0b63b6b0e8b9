-- The agents of the items that a run may still take: any pending one in a loop; else none if it has its item, or the one
-- that it was started for.
CREATE OR REPLACE FUNCTION callboard.coming_agents(its_run text) RETURNS TABLE (agent_name text, task_type text)
LANGUAGE sql STABLE AS $$
    SELECT DISTINCT i.agent_name, i.task_type
    FROM callboard.runs r JOIN callboard.project_items i ON i.project_id = r.project_id
    WHERE r.id = its_run AND i.status = 'pending'
      AND (r.mode = 'loop' OR r.item_id IS NULL AND (r.requested_item IS NULL OR i.id = r.requested_item))
$$;

-- Whether a dead letter fits a filter: {actor, agent_name, task_type, error_type, fingerprint, tenant, died_by}, all
-- optional. scope: the tenant of the caller; without: works that are left out, {actor} or {agent_name, task_type}.
CREATE OR REPLACE FUNCTION callboard.dead_letter_fits(t callboard.tasks, wanted jsonb) RETURNS boolean LANGUAGE sql STABLE
AS $$
    SELECT t.hidden_at IS NULL
       AND (wanted ->> 'actor' IS NULL OR t.actor = wanted ->> 'actor')
       AND (wanted ->> 'agent_name' IS NULL OR t.payload ->> 'agent_name' = wanted ->> 'agent_name')
       AND (wanted ->> 'task_type' IS NULL
            OR t.payload ->> 'agent_name' IS NOT NULL AND t.payload ->> 'task_type' = wanted ->> 'task_type')
       AND (wanted ->> 'error_type' IS NULL OR t.error ->> 'type' = wanted ->> 'error_type')
       AND (wanted ->> 'tenant' IS NULL OR t.tenant = wanted ->> 'tenant')
       AND (wanted ->> 'scope' IS NULL OR t.tenant = wanted ->> 'scope')
       AND (wanted ->> 'died_by' IS NULL OR t.finished_at <= (wanted ->> 'died_by')::timestamptz)
       AND (wanted ->> 'fingerprint' IS NULL OR callboard.error_fingerprint(t.error) = wanted ->> 'fingerprint')
       AND (wanted -> 'without' IS NULL OR NOT EXISTS (
            SELECT FROM jsonb_to_recordset(wanted -> 'without') AS w (actor text, agent_name text, task_type text)
            WHERE t.actor = w.actor OR t.payload ->> 'agent_name' = w.agent_name AND t.payload ->> 'task_type' = w.task_type
               OR t.actor = 'project_run' AND (w.agent_name, w.task_type) IN (
                    SELECT a.agent_name, a.task_type FROM callboard.coming_agents(t.id) AS a)))
$$;
