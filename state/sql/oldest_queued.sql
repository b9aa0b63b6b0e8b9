-- The longest time that a queued task of each queue waits.
WITH RECURSIVE /*queue_heads*/
SELECT queue, greatest(extract(epoch FROM callboard.now() - min(available_at)), 0)::double precision AS seconds
FROM heads GROUP BY queue ORDER BY queue
