-- The columns of an agent event that searches return.
e.id AS event_id, e.task_id, e.workflow_id, e.tenant, e.agent_name, e.task_type, e.text, e.created_at
