SELECT (r.run).schedule_id, (r.run).n, (r.run).tick, (r.run).outcome, (r.run).task_id, (r.run).missed, (r.run).reason,
       (r.run).asked_by, (r.run).created_at, r.task_status
FROM callboard.start_schedule_now(%(id)s, %(task_id)s, %(scope)s, %(asked_by)s) AS r
