-- autocommit
-- Reads the history once, without a lock: what it finds, less what the triggers have counted in the same snapshot, is what
-- was finished before them. Run again, it adds nothing.
INSERT INTO callboard.finished_counts (status, tasks)
SELECT status, coalesce(f.tasks, 0) - coalesce(c.tasks, 0)
FROM (SELECT t.status, count(*) AS tasks FROM callboard.tasks t
      WHERE t.status IN ('completed', 'canceled', 'dead') AND t.hidden_at IS NULL
      GROUP BY t.status) AS f
     FULL JOIN (SELECT k.status, sum(k.tasks) AS tasks FROM callboard.finished_counts k GROUP BY k.status) AS c
     USING (status)
WHERE coalesce(f.tasks, 0) <> coalesce(c.tasks, 0);
