-- The key is any constant: only one process migrates at a time. Does not wait: a waiting statement has a snapshot, and
-- a CREATE INDEX CONCURRENTLY of the other process would wait for its end.
SELECT pg_try_advisory_lock(4711200801) AS locked
