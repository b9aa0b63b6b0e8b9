-- Reads the next ids of dead letters, oldest first.
SELECT t.id FROM callboard.tasks t
WHERE t.status = 'dead' AND t.id > %(after)s AND callboard.dead_letter_fits(t, %(wanted)s)
ORDER BY t.id
LIMIT %(limit)s
