DROP VIEW IF EXISTS admin.partitions;
CREATE VIEW admin.partitions AS
SELECT p.relname::text AS parent, c.relname::text AS name,
       CASE WHEN s.first_one ~ '^tq_[0-9a-f]{12}$'
            THEN to_timestamp(('x' || substr(s.first_one, 4, 12))::bit(48)::bigint / 1000.0) END AS created_from,
       CASE WHEN s.past ~ '^tq_[0-9a-f]{12}$'
            THEN to_timestamp(('x' || substr(s.past, 4, 12))::bit(48)::bigint / 1000.0) END AS created_before,
       pg_total_relation_size(c.oid) AS bytes, greatest(c.reltuples, 0)::bigint AS estimated_rows
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent,
     LATERAL pg_get_expr(c.relpartbound, c.oid) AS b (bound),
     LATERAL (SELECT substring(b.bound FROM 'FROM \(''(.*?)''\)') AS first_one,
                     substring(b.bound FROM 'TO \(''(.*?)''\)') AS past) AS s
WHERE i.inhparent IN ('callboard.events'::regclass, 'callboard.attempts'::regclass)
ORDER BY p.relname, s.first_one COLLATE "C" NULLS FIRST, c.relname;

COMMENT ON VIEW admin.partitions IS 'The partitions of the history: of tasks that were created when, and how large.';
