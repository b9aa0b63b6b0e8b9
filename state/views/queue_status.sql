DROP VIEW IF EXISTS admin.queue_status;
CREATE VIEW admin.queue_status AS
SELECT t.queue, t.status, t.lane, count(*) AS tasks, min(t.available_at) AS oldest
FROM callboard.tasks t
WHERE t.status NOT IN (/*terminal*/)
GROUP BY t.queue, t.status, t.lane;

COMMENT ON VIEW admin.queue_status IS 'Tasks that are not terminal by queue, status and lane.';
