SELECT a.task_id, a.epoch, a.outcome, extract(epoch FROM a.started_at)::double precision AS started,
       extract(epoch FROM a.finished_at)::double precision AS finished
FROM callboard.attempts a
