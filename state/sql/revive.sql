SELECT /*move_result*/, m.dedup_key, m.holder
FROM callboard.revive_tasks(%(ids)s, %(why)s, %(edited)s, %(wanted)s) AS m
