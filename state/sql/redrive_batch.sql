-- One bounded batch, oldest first, past those that somebody else has in hand.
SELECT r.* FROM callboard.revive(ARRAY(
    SELECT t.id FROM callboard.tasks t
    WHERE t.status = 'dead' AND t.id > %(after)s AND callboard.dead_letter_fits(t, %(wanted)s)
    ORDER BY t.id
    LIMIT %(limit)s
    FOR NO KEY UPDATE SKIP LOCKED
), 'redriven') AS r
ORDER BY r.id
