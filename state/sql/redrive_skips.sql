-- Counts the dead letters that a redrive would leave out: see revival_holders (in run_holders.sql).
SELECT count(*) AS tasks
FROM callboard.revival_holders(ARRAY(
    SELECT t.id FROM callboard.tasks t
    WHERE t.status = 'dead' AND (t.dedup_key IS NOT NULL OR t.actor = 'project_run')
      AND callboard.dead_letter_fits(t, %(wanted)s)
))
