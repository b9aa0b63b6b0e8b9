SELECT id, epoch, actor, queue, before, status, gates, dedup_key, holder
FROM callboard.revive_tasks(%(ids)s, %(why)s, %(edited)s, %(wanted)s)
