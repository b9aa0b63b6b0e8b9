-- How many events a search by vector cannot find, as they have no vector yet, or that of another model; 1000 at most.
SELECT count(*) AS events
FROM (SELECT FROM callboard.agent_events e
      WHERE (e.embedding_model IS NULL OR e.embedding_model < %(model)s OR e.embedding_model > %(model)s)
        AND e.hidden_at IS NULL AND (/*in_scope*/ e.tenant)
        AND (%(any_tenant)s::boolean OR coalesce(e.tenant, '') = coalesce(%(tenant)s::text, ''))
        AND (%(agent_name)s::text IS NULL OR e.agent_name = %(agent_name)s)
        AND (%(task_type)s::text IS NULL OR e.task_type = %(task_type)s)
      LIMIT 1000) AS found
