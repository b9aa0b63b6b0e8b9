-- Reads the next ids of a group of dead letters, as its index has them: by kind, and of each kind the oldest first.
SELECT t.id, t.kind
FROM (SELECT k AS task, k.id, k.error, /*kind*/ AS kind FROM callboard.tasks k WHERE k.status = 'dead' AND k.hidden_at IS NULL) AS t
WHERE callboard.error_fingerprint(t.error) = %(fingerprint)s AND (t.kind, t.id) > (%(kind)s, %(after)s)
  AND callboard.dead_letter_fits(t.task, %(wanted)s::jsonb - 'fingerprint')
ORDER BY t.kind, t.id
LIMIT %(limit)s
