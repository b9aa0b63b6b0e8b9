-- The tasks that have not ended, by status.
SELECT t.status, array_agg(t.id) AS ids
FROM callboard.tasks t WHERE t.status NOT IN (/*terminal*/) GROUP BY t.status
