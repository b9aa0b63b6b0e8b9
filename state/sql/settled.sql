-- Asked after a lost connection: finds those of the executions that were settled by the worker.
SELECT a.task_id AS id, a.epoch
FROM jsonb_to_recordset(%(executions)s) AS i (id text, epoch integer)
JOIN callboard.attempts a ON a.task_id = i.id AND a.epoch = i.epoch
WHERE a.worker_id = %(worker)s AND a.outcome <> 'lost'
