-- Newest first. Each event is looked up by its key, without the planner's estimates of how many there are.
SELECT e.id AS event_id, e.task_id, e.workflow_id, e.tenant, e.agent_name, e.task_type, left(e.text, 1000) AS text, e.created_at
FROM (SELECT w.id FROM callboard.newest_agent_events(%(wanted)s::jsonb, coalesce(%(before)s::text, 'ae_g'), %(limit)s::integer) AS w
      WHERE %(text)s::text IS NULL
      UNION ALL
      SELECT w.id FROM callboard.newest_agent_events_with_words(
          %(wanted)s::jsonb, %(text)s::text, coalesce(%(before)s::text, 'ae_g'), %(limit)s::integer) AS w
      WHERE %(text)s::text IS NOT NULL) AS n
CROSS JOIN LATERAL (SELECT k.id, k.task_id, k.workflow_id, k.tenant, k.agent_name, k.task_type, k.text, k.created_at
                    FROM callboard.agent_events k WHERE k.id = n.id LIMIT 1) AS e
ORDER BY e.id DESC
