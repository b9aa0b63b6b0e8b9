-- Closes the providers' gates of these tasks, each for its number of seconds. Waits for no lock: returns the tasks
-- that have a gate which another session has locked.
WITH asked AS MATERIALIZED (
    SELECT c.task, c.seconds, g.key
    FROM unnest(%(tasks)s::text[], %(seconds)s::double precision[]) AS c (task, seconds)
    JOIN callboard.tasks t ON t.id = c.task
    JOIN callboard.gates g ON g.key = ANY (t.gates) AND g.key LIKE 'provider:%%'
), mine AS MATERIALIZED (
    SELECT g.key FROM callboard.gates g WHERE g.key = ANY (ARRAY(SELECT a.key FROM asked a)) FOR NO KEY UPDATE SKIP LOCKED
), closed AS (
    UPDATE callboard.gates g
    SET closed_until = greatest(g.closed_until, callboard.now() + make_interval(secs => (
        SELECT max(a.seconds) FROM asked a WHERE a.key = g.key)))
    FROM mine m WHERE g.key = m.key
)
SELECT DISTINCT a.task AS id FROM asked a WHERE a.key NOT IN (SELECT m.key FROM mine m)
