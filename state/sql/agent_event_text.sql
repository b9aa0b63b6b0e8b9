SELECT e.text FROM callboard.agent_events e WHERE e.id = %(id)s AND (/*in_scope*/ e.tenant)
