-- The longest time that a queued task of a tenant waits, by queue.
SELECT t.queue, greatest(extract(epoch FROM callboard.now() - min(t.available_at)), 0)::double precision AS seconds
FROM callboard.tasks t WHERE t.status = 'queued' AND t.tenant = %(tenant)s GROUP BY t.queue ORDER BY t.queue
