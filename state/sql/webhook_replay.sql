SELECT r.n, r.type, r.id, r.epoch, r.actor, r.queue, r.before, r.status, r.gates
FROM callboard.replay_webhooks(%(id)s, %(after)s::integer, %(events)s::integer[], %(possible)s::text[], %(by)s) AS r
ORDER BY r.n
