-- One of these tasks, if any exists, hidden or not.
SELECT t.id FROM callboard.tasks t WHERE t.id = ANY (%(ids)s) LIMIT 1
