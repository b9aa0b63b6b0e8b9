SELECT /*event_columns*/, n.score
FROM callboard.nearest_agent_events(%(vector)s::real[], %(model)s, %(tenant)s, %(any_tenant)s::boolean, %(agent_name)s,
                                    %(task_type)s, %(limit)s::integer) AS n
JOIN callboard.agent_events e ON e.id = n.id
WHERE (/*in_scope*/ e.tenant)
ORDER BY n.score DESC, e.id
