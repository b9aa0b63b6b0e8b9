-- Finds running workflows that have to go on: an approval has expired, or nothing of them lives (which no transaction of
-- ours leaves behind). Looks at some of the running ones, from where the last turn stopped.
(SELECT s.workflow_id AS id, true AS found, true AS expired
 FROM callboard.workflow_steps s JOIN callboard.workflows w ON w.id = s.workflow_id AND w.status = 'running'
 WHERE s.status = 'waiting' AND s.expires_at <= callboard.now()
 ORDER BY s.expires_at
 LIMIT %(limit)s)
UNION
SELECT r.id, NOT callboard.workflow_lives(r.id), false
FROM (SELECT w.id FROM callboard.workflows w WHERE w.status = 'running' AND w.id > %(after)s ORDER BY w.id LIMIT %(limit)s) AS r
