-- Only the last run before a stop has a reason: runs of a loop that were followed by another one have none.
WITH ended AS MATERIALIZED (
    SELECT r.outcome, r.reason, r.ended_at,
           extract(epoch FROM r.ended_at - r.started_at)::double precision AS seconds
    FROM callboard.runs r
    WHERE r.project_id = %(project_id)s AND r.ended_at IS NOT NULL
      AND EXISTS (SELECT FROM callboard.projects p WHERE p.id = %(project_id)s AND (/*in_scope*/ p.tenant))
), stops AS (
    SELECT e.reason, count(*) AS count, max(e.ended_at) AS last_at FROM ended e
    WHERE e.reason IS NOT NULL GROUP BY e.reason
)
SELECT count(*) AS runs,
       count(*) FILTER (WHERE e.outcome = 'completed') AS completed,
       count(*) FILTER (WHERE e.outcome = 'dead') AS failed,
       count(*) FILTER (WHERE e.outcome = 'canceled') AS canceled,
       avg(e.seconds) AS average_seconds,
       coalesce(sum(e.seconds), 0) AS total_seconds,
       (SELECT coalesce(jsonb_agg(to_jsonb(s) ORDER BY s.count DESC, s.reason), '[]') FROM stops s) AS stops
FROM ended e
