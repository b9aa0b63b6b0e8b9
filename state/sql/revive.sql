SELECT /*move_result*/, m.dedup_key, m.holder
FROM callboard.revive_tasks(ARRAY(
    SELECT t.id FROM callboard.tasks t WHERE t.id = ANY (%(ids)s) AND (/*in_scope*/ t.tenant)
), %(why)s, %(edited)s, %(wanted)s, %(by)s) AS m
