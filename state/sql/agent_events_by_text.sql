SELECT /*event_columns*/, w.score
FROM callboard.agent_events_with_words(%(text)s, %(tenant)s, %(any_tenant)s::boolean, %(agent_name)s, %(task_type)s,
                                       %(limit)s::integer) AS w
JOIN callboard.agent_events e ON e.id = w.id
WHERE (/*in_scope*/ e.tenant)
ORDER BY w.score DESC, e.id DESC
