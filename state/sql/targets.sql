-- Lists targets that have unfinished tasks, with the task that the others wait for: the one that runs, or else the first in
-- the order of arrival, as a claim decides it (target_turn). Jumps from one target to the next in the index of targets. A
-- dead task that was deleted holds up nobody.
WITH RECURSIVE names AS (
    (SELECT coalesce(t.tenant, '') AS owner, t.target FROM callboard.tasks t
     WHERE t.target IS NOT NULL AND t.status NOT IN (/*terminal*/)
       AND (coalesce(t.tenant, ''), t.target) > (%(after_owner)s, %(after_target)s)
     ORDER BY coalesce(t.tenant, ''), t.target LIMIT 1)
    UNION ALL
    SELECT n.owner, n.target
    FROM names p, LATERAL (
        SELECT coalesce(t.tenant, '') AS owner, t.target FROM callboard.tasks t
        WHERE t.target IS NOT NULL AND t.status NOT IN (/*terminal*/)
          AND (coalesce(t.tenant, ''), t.target) > (p.owner, p.target)
        ORDER BY coalesce(t.tenant, ''), t.target LIMIT 1
    ) AS n
    WHERE n.owner <= %(last_owner)s
)
SELECT nullif(n.owner, '') AS tenant, n.target, h.id AS task_id, h.status, h.since, o.tasks - 1 AS waiting,
       h.status IN ('paused', 'dead') AS blocked
FROM names n,
     LATERAL (
        SELECT count(*) AS tasks,
               (array_agg(t.id ORDER BY t.status = 'running' DESC, t.created_at, t.id))[1] AS first_id
        FROM callboard.tasks t
        WHERE coalesce(t.tenant, '') = n.owner AND t.target = n.target AND t.status NOT IN (/*terminal*/)
          AND t.hidden_at IS NULL
     ) AS o,
     LATERAL (
        SELECT t.id, t.status,
               CASE t.status WHEN 'running' THEN t.started_at WHEN 'dead' THEN t.finished_at ELSE t.updated_at END AS since
        FROM callboard.tasks t WHERE t.id = o.first_id AND (/*in_scope*/ t.tenant)
        OFFSET 0 -- looked up for each name in turn: a join of all of them would lose their order
     ) AS h
WHERE n.owner <= %(last_owner)s AND position(lower(%(q)s::text) IN lower(n.target)) > 0
  AND (%(blocked)s::boolean IS NULL OR (h.status IN ('paused', 'dead')) = %(blocked)s)
-- Without ORDER BY: the targets come in their order, and no more of them are looked at than the page has.
LIMIT %(limit)s
