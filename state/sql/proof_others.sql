-- The connections to a database of this server.
SELECT count(*) AS connected FROM pg_stat_activity a WHERE a.datname = %(name)s
