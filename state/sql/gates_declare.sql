-- An operator's limit differs from the one declared before, and is kept; any other follows the code.
INSERT INTO callboard.gates AS g (key, declared_concurrent, max_concurrent, breaker_threshold)
SELECT d.key, d.declared, d.declared, d.breaker
FROM unnest(%(keys)s::text[], %(limits)s::integer[], %(breakers)s::double precision[]) AS d (key, declared, breaker)
ON CONFLICT (key) DO UPDATE
SET declared_concurrent = excluded.declared_concurrent,
    max_concurrent = CASE WHEN g.max_concurrent IS NOT DISTINCT FROM g.declared_concurrent
                          THEN excluded.declared_concurrent ELSE g.max_concurrent END,
    breaker_threshold = coalesce(g.breaker_threshold, excluded.breaker_threshold)
WHERE (g.declared_concurrent, coalesce(g.breaker_threshold, excluded.breaker_threshold))
      IS DISTINCT FROM (excluded.declared_concurrent, g.breaker_threshold)
