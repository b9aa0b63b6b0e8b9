-- The kind of a task among those of all tenants, as in the index tasks_listed.
callboard.kind_of(status, actor, queue, lane, NULL, payload ->> 'agent_name', payload ->> 'task_type', error ->> 'type')
