SELECT (r.run).schedule_id, (r.run).n, (r.run).tick, (r.run).outcome, (r.run).task_id, (r.run).missed, (r.run).reason,
       r.task_status
FROM callboard.start_schedules(%(planned)s::jsonb) AS r
