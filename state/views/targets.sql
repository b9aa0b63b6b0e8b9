DROP VIEW IF EXISTS admin.targets;
CREATE VIEW admin.targets AS
SELECT t.tenant, t.target, count(*) AS unfinished,
       (array_agg(t.id ORDER BY t.created_at, t.id))[1] AS first_task,
       (array_agg(t.status ORDER BY t.created_at, t.id))[1] AS first_status
FROM callboard.tasks t
WHERE t.target IS NOT NULL AND t.status NOT IN (/*terminal*/)
GROUP BY t.tenant, t.target;

COMMENT ON VIEW admin.targets IS 'Targets with unfinished tasks, and the first of these, which holds up the others.';
