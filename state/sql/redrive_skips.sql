-- Counts the dead letters that a redrive would leave out: see revival_holders (in run_holders.sql). A fingerprint is looked up
-- in the index, not by the filter.
SELECT count(*) AS tasks
FROM callboard.revival_holders(ARRAY(
    SELECT t.id FROM callboard.tasks t
    WHERE t.status = 'dead' AND t.hidden_at IS NULL AND (t.dedup_key IS NOT NULL OR t.actor = 'project_run')
      AND (%(fingerprint)s::text IS NULL OR callboard.error_fingerprint(t.error) = %(fingerprint)s)
      AND callboard.dead_letter_fits(t, %(wanted)s::jsonb - 'fingerprint')
))
