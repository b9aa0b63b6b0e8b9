-- If dead letters were counted without an actor (by an earlier release), adds what is missing for each actor and type of
-- error: what there is, less what was counted, in one snapshot. If two of these run at once, the next one repairs it.
INSERT INTO callboard.finished_counts (status, tasks, actor, error_type)
SELECT 'dead', coalesce(f.tasks, 0) - coalesce(c.tasks, 0), nullif(actor, ''), nullif(error_type, '')
FROM (SELECT t.actor, coalesce(t.error ->> 'type', '') AS error_type, count(*) AS tasks FROM callboard.tasks t
      WHERE t.status = 'dead' AND t.hidden_at IS NULL GROUP BY 1, 2) AS f
     FULL JOIN (SELECT coalesce(k.actor, '') AS actor, coalesce(k.error_type, '') AS error_type, sum(k.tasks) AS tasks
                FROM callboard.finished_counts k WHERE k.status = 'dead' GROUP BY 1, 2) AS c
     USING (actor, error_type)
WHERE coalesce(f.tasks, 0) <> coalesce(c.tasks, 0)
  AND EXISTS (SELECT FROM callboard.finished_counts u WHERE u.status = 'dead' AND u.actor IS NULL HAVING sum(u.tasks) <> 0)
