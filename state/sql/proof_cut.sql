-- Ends connections of Callboard to this database: a share of them, or only those that listen.
SELECT count(pg_terminate_backend(a.pid)) AS ended
FROM pg_stat_activity a
WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.usename = current_user
  AND a.application_name LIKE 'callboard%%' AND a.application_name <> 'callboard proof'
  AND (NOT %(listening)s::boolean OR a.application_name IN ('callboard listener', 'callboard dispatcher'))
  AND random() < %(share)s::double precision
