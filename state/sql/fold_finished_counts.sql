-- Adds up the rows of finished_counts, if there are many: one row for each status stays, and for dead
-- letters one for each actor and type of error. Two of these at once do no harm:
-- a row that the other has deleted counts for the other only.
WITH gone AS (
    DELETE FROM callboard.finished_counts
    WHERE ctid = ANY (ARRAY(SELECT ctid FROM callboard.finished_counts LIMIT %(limit)s))
      AND (SELECT count(*) FROM (SELECT FROM callboard.finished_counts LIMIT %(least)s) AS few) = %(least)s
    RETURNING status, tasks, actor, error_type
)
INSERT INTO callboard.finished_counts (status, tasks, actor, error_type)
SELECT g.status, sum(g.tasks), g.actor, g.error_type FROM gone g
GROUP BY g.status, g.actor, g.error_type HAVING sum(g.tasks) <> 0
