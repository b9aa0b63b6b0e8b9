-- Bytes that have become a content are kept for ever.
DELETE FROM callboard.stored_bytes b
WHERE b.sha256 = ANY (ARRAY(
    SELECT o.sha256 FROM callboard.stored_bytes o
    WHERE o.stored_at < callboard.now() - make_interval(secs => %(age)s)
      AND EXISTS (SELECT FROM callboard.contents c WHERE c.sha256 = o.sha256)
    ORDER BY o.stored_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED))
