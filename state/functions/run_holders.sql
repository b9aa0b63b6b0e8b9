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
