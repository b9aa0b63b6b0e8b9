SELECT t.actor, t.queue, extract(epoch FROM t.started_at - t.available_at)::double precision AS seconds
FROM unnest(%(ids)s::text[], %(epochs)s::integer[]) AS i (id, epoch)
JOIN callboard.tasks t ON t.id = i.id AND t.epoch = i.epoch
WHERE t.available_at <= t.started_at
