-- In newest_tasks: whether a listed task l fits the filters that all tasks of its kind fit.
(wanted ->> 'status' IS NULL OR l.status = wanted ->> 'status')
AND (wanted -> 'places' IS NULL OR wanted -> 'places' ? concat(l.status, ':', l.lane))
AND (wanted ->> 'actor' IS NULL OR l.actor = wanted ->> 'actor')
AND (wanted ->> 'queue' IS NULL OR l.queue = wanted ->> 'queue')
AND (wanted ->> 'lane' IS NULL OR l.lane = wanted ->> 'lane')
AND (wanted ->> 'tenant' IS NULL OR l.tenant = wanted ->> 'tenant')
AND (wanted ->> 'scope' IS NULL OR l.tenant = wanted ->> 'scope')
AND (wanted ->> 'error_type' IS NULL OR l.error ->> 'type' = wanted ->> 'error_type')
AND (wanted ->> 'agent_name' IS NULL OR l.payload ->> 'agent_name' = wanted ->> 'agent_name')
AND (wanted ->> 'task_type' IS NULL
     OR l.payload ->> 'agent_name' IS NOT NULL AND l.payload ->> 'task_type' = wanted ->> 'task_type')
