-- Newest first. Ids are ordered by time, so the id is the cursor.
SELECT /*task_columns*/
FROM callboard.tasks t
WHERE t.status = 'dead' AND (%(before)s::text IS NULL OR t.id < %(before)s) AND callboard.dead_letter_fits(t, %(wanted)s)
ORDER BY t.id DESC
LIMIT %(limit)s
