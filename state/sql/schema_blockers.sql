-- Reads the sessions that a given one waits for, and their last statements.
SELECT a.pid, a.application_name, a.usename, a.state, a.query,
       extract(epoch FROM clock_timestamp() - a.xact_start)::double precision AS open_seconds
FROM pg_stat_activity a
WHERE a.pid = ANY (pg_blocking_pids(%(pid)s))
ORDER BY a.xact_start
