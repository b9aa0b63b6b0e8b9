-- Only the last run before a stop has a reason: runs of a loop that were followed by another one have none. Tokens and cost
-- are those of all runs, the live one included.
WITH mine AS MATERIALIZED (
    SELECT r.outcome, r.reason, r.ended_at, t.tokens, t.cost, r.ended_at IS NULL OR r.created_at >= p.started_at AS is_of_start,
           extract(epoch FROM r.ended_at - r.started_at)::double precision AS seconds
    FROM callboard.runs r JOIN callboard.projects p ON p.id = r.project_id LEFT JOIN callboard.tasks t ON t.id = r.id
    WHERE r.project_id = %(project_id)s AND (/*in_scope*/ p.tenant)
), ended AS MATERIALIZED (
    SELECT * FROM mine m WHERE m.ended_at IS NOT NULL
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
       (SELECT count(*) FROM mine m WHERE m.is_of_start) AS runs_since_start,
       (SELECT coalesce(sum(m.tokens), 0)::bigint FROM mine m) AS tokens,
       (SELECT coalesce(sum(m.cost), 0)::double precision FROM mine m) AS cost,
       (SELECT coalesce(jsonb_agg(to_jsonb(s) ORDER BY s.count DESC, s.reason), '[]') FROM stops s) AS stops
FROM ended e
