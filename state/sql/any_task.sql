-- Finds one of these tasks, hidden or not.
SELECT t.id FROM callboard.tasks t WHERE t.id = ANY (%(ids)s) LIMIT 1
