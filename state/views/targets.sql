DROP VIEW IF EXISTS admin.targets;
CREATE VIEW admin.targets AS
SELECT u.tenant, u.target, u.unfinished, t.id AS first_task, t.actor AS first_actor, t.status AS first_status,
       t.status IN ('paused', 'dead') AS blocked, t.updated_at AS since
FROM (
    SELECT o.tenant, o.target, count(*) AS unfinished, (array_agg(o.id ORDER BY o.created_at, o.id))[1] AS first_task
    FROM callboard.tasks o
    WHERE o.target IS NOT NULL AND o.status NOT IN (/*terminal*/) AND o.hidden_at IS NULL
    GROUP BY o.tenant, o.target
) AS u
JOIN callboard.tasks t ON t.id = u.first_task;

COMMENT ON VIEW admin.targets IS 'Targets with unfinished tasks, and the first of these, which holds up the others: for long if it is blocked (paused or dead).';
