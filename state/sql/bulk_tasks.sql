-- What a bulk action must know of tasks: whether they fit its filter, whether the caller may let them run, and whose place
-- they would take. Each is looked up by its key, as in tasks.sql.
WITH found AS MATERIALIZED (
    SELECT t.task FROM unnest(%(ids)s::text[]) AS n (id)
    CROSS JOIN LATERAL (SELECT k AS task, k.tenant, k.hidden_at FROM callboard.tasks k WHERE k.id = n.id LIMIT 1) AS t
    WHERE t.hidden_at IS NULL AND (/*in_scope*/ t.tenant)
)
SELECT (f.task).id, (f.task).actor, (f.task).status, (f.task).lane, (f.task).cancel_requested,
       callboard.task_fits(f.task, %(wanted)s) AS fits,
       callboard.dead_letter_fits(f.task, jsonb_strip_nulls(jsonb_build_object('without', %(wanted)s::jsonb -> 'without'))) AS allowed, h.holder
FROM found f
LEFT JOIN callboard.revival_holders(CASE WHEN %(revives)s::boolean THEN %(ids)s::text[] ELSE '{}' END) AS h ON h.id = (f.task).id
