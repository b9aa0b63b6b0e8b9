-- Changes a lease only while it belongs to the worker.
WITH wanted AS (
    SELECT i.* FROM jsonb_to_recordset(%(entries)s) AS i (id text COLLATE "C", epoch integer, on_loss jsonb)
), mine AS MATERIALIZED (
    SELECT l.task_id, w.on_loss
    FROM wanted w JOIN callboard.leases l ON l.task_id = w.id AND l.epoch = w.epoch
    WHERE l.worker_id = %(worker)s
    ORDER BY l.task_id
    FOR UPDATE OF l
)
UPDATE callboard.leases l SET on_loss = m.on_loss
FROM mine m WHERE l.task_id = m.task_id
RETURNING l.task_id AS id, l.epoch
