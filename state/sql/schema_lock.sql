-- Any constant: only one process migrates at a time. Never waits: a waiting statement has a snapshot, for whose end a
-- CREATE INDEX CONCURRENTLY of the other migrator would wait.
SELECT pg_try_advisory_lock(4711200801) AS locked
