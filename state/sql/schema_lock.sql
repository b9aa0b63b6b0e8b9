SET LOCAL lock_timeout = '60s';
SET LOCAL statement_timeout = 0;
SELECT pg_advisory_xact_lock(4711200801);  -- any constant: only one process migrates at a time
