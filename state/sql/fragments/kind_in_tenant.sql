-- The kind of a task, as in the indexes of lists that are limited by a name.
callboard.kind_of(status, actor, queue, lane, tenant, payload ->> 'agent_name', payload ->> 'task_type', error ->> 'type')
