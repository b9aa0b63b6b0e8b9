-- Adds up the rows of finished_counts, if there are many: one row for each status stays. Two of these at once do no harm:
-- a row that the other has deleted counts for the other only.
WITH gone AS (
    DELETE FROM callboard.finished_counts
    WHERE ctid = ANY (ARRAY(SELECT ctid FROM callboard.finished_counts LIMIT %(limit)s))
      AND (SELECT count(*) FROM (SELECT FROM callboard.finished_counts LIMIT %(least)s) AS few) = %(least)s
    RETURNING status, tasks
)
INSERT INTO callboard.finished_counts (status, tasks)
SELECT g.status, sum(g.tasks) FROM gone g GROUP BY g.status HAVING sum(g.tasks) <> 0
