DROP VIEW IF EXISTS admin.schedule_runs;
CREATE VIEW admin.schedule_runs AS
SELECT r.schedule_id, s.name AS schedule, s.tenant, r.n, r.tick, r.outcome, r.task_id, t.status, r.missed, r.reason,
       r.asked_by, r.created_at, r.created_at - r.tick AS delay, t.started_at, t.finished_at
FROM callboard.schedule_runs r
JOIN callboard.schedules s ON s.id = r.schedule_id
LEFT JOIN callboard.tasks t ON t.id = r.task_id;

COMMENT ON VIEW admin.schedule_runs IS 'What became of each tick of each schedule, also of deleted ones.';
