-- Those that still fit, past those that somebody else has in hand.
SELECT d.id, d.epoch, d.actor, d.queue, d.before, d.status, d.gates FROM callboard.dismiss(ARRAY(
    SELECT t.id FROM callboard.tasks t
    WHERE t.id = ANY (%(ids)s) AND t.status = 'dead' AND callboard.dead_letter_fits(t, %(wanted)s)
    ORDER BY t.id
    FOR NO KEY UPDATE SKIP LOCKED
)) AS d
