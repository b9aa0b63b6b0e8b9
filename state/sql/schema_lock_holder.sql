SELECT l.pid FROM pg_locks l
WHERE l.locktype = 'advisory' AND l.granted AND (l.classid::bigint << 32) + l.objid::bigint = 4711200801
