-- Locks bytes that were stored long ago and have not become a content. Nobody can store them while they are locked. Not
-- while a worker of release 23 is alive, which does not say what it stores.
SELECT b.sha256 FROM callboard.stored_bytes b
WHERE b.stored_at < callboard.now() - make_interval(secs => %(age)s)
  AND NOT EXISTS (SELECT FROM callboard.contents c WHERE c.sha256 = b.sha256)
  AND NOT EXISTS (SELECT FROM callboard.workers w WHERE w.stopped_at IS NULL AND w.version IS NULL)
ORDER BY b.stored_at LIMIT 1
FOR UPDATE OF b SKIP LOCKED
