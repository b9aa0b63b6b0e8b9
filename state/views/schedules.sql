DROP VIEW IF EXISTS admin.schedules;
CREATE VIEW admin.schedules AS
SELECT s.id, s.name, s.tenant, s.cron, s.timezone, s.actor, s.payload, s.queue, s.priority, s.catch_up, s.overlap,
       s.jitter_seconds, s.paused, s.next_at, s.next_at < callboard.now() - interval '1 minute' AS late, s.last_tick,
       s.last_task, t.status AS last_status, s.last_error, s.last_run AS runs, s.declared IS NOT NULL AS declared_in_code,
       s.created_by, s.created_at, s.updated_at
FROM callboard.schedules s LEFT JOIN callboard.tasks t ON t.id = s.last_task
WHERE s.deleted_at IS NULL;

COMMENT ON VIEW admin.schedules IS 'Recurring tasks: when each comes next, and what became of its last tick. One that is late has no maintainer.';
