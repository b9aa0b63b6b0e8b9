-- Of these tasks, the dead runs that cannot be revived, each with the run that is in the way: a live run of its project, a
-- run of the same project that comes before it in the list, or the run that has taken over its item. The caller has
-- locked their projects.
CREATE OR REPLACE FUNCTION callboard.run_holders(ids text[]) RETURNS TABLE (id text, holder text)
LANGUAGE sql STABLE AS $$
    SELECT d.id, coalesce(live.id, taken.run_id, d.first)
    FROM (
        SELECT r.id, r.project_id, r.item_id, first_value(r.id) OVER (PARTITION BY r.project_id ORDER BY r.id) AS first
        FROM callboard.runs r WHERE r.id = ANY (ids) AND r.ended_at IS NOT NULL
    ) AS d
    LEFT JOIN callboard.runs live ON live.project_id = d.project_id AND live.ended_at IS NULL
    LEFT JOIN callboard.project_items taken ON taken.id = d.item_id AND taken.run_id <> d.id
    WHERE live.id IS NOT NULL OR taken.id IS NOT NULL OR d.first <> d.id
$$;

-- Of these tasks, the dead letters that revive_tasks would leave as they are, each with the task that is in the way: the
-- unfinished one that holds its dedup key, the one among these that gets the key, or a run of the same project.
CREATE OR REPLACE FUNCTION callboard.revival_holders(ids text[]) RETURNS TABLE (id text, holder text)
LANGUAGE sql STABLE AS $$
    SELECT k.id, coalesce(k.holder, k.first)
    FROM (
        SELECT t.id, first_value(t.id) OVER (PARTITION BY coalesce(t.tenant, ''), t.actor, t.dedup_key ORDER BY t.id) AS first,
               (SELECT h.id FROM callboard.dedup d JOIN callboard.tasks h ON h.id = d.task_id
                WHERE d.tenant = coalesce(t.tenant, '') AND d.actor = t.actor AND d.key = t.dedup_key
                  AND d.until > callboard.now() AND h.status NOT IN (/*finished*/)) AS holder
        FROM callboard.tasks t WHERE t.id = ANY (ids) AND t.status = 'dead' AND t.dedup_key IS NOT NULL
    ) AS k
    WHERE k.holder IS NOT NULL OR k.first <> k.id
    UNION ALL
    SELECT r.id, r.holder
    FROM callboard.run_holders(ARRAY(
        SELECT t.id FROM callboard.tasks t WHERE t.id = ANY (ids) AND t.status = 'dead' AND t.actor = 'project_run'
    )) AS r
$$;
