-- In the WHERE of a search of agent events.
e.hidden_at IS NULL
AND (%(any_tenant)s::boolean OR coalesce(e.tenant, '') = coalesce(%(tenant)s::text, ''))
AND (%(agent_name)s::text IS NULL OR e.agent_name = %(agent_name)s)
AND (%(task_type)s::text IS NULL OR e.task_type = %(task_type)s)
