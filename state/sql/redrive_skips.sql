-- Counts the dead letters that a redrive would leave out: another unfinished task holds their dedup key, or gets it
-- before them; or they are runs, and another run of their project is in their place.
SELECT (
    SELECT count(*)
    FROM (
        SELECT t.id, row_number() OVER (PARTITION BY coalesce(t.tenant, ''), t.actor, t.dedup_key ORDER BY t.id) AS place,
               EXISTS (SELECT FROM callboard.dedup d JOIN callboard.tasks h ON h.id = d.task_id
                       WHERE d.tenant = coalesce(t.tenant, '') AND d.actor = t.actor AND d.key = t.dedup_key
                         AND d.until > callboard.now() AND h.status NOT IN (/*finished*/)) AS held
        FROM callboard.tasks t
        WHERE t.status = 'dead' AND t.dedup_key IS NOT NULL AND callboard.dead_letter_fits(t, %(wanted)s)
    ) AS keyed
    WHERE keyed.held OR keyed.place > 1
) + (
    SELECT count(*)
    FROM callboard.run_holders(ARRAY(
        SELECT t.id FROM callboard.tasks t
        WHERE t.status = 'dead' AND t.actor = 'project_run' AND callboard.dead_letter_fits(t, %(wanted)s)
    ))
) AS tasks
