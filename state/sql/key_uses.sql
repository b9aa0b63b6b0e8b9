-- Servers write at the same time, so the rows are locked in order. A later use that another one has written stays.
WITH used AS (
    SELECT u.id, max(callboard.now() - u.seconds_ago * interval '1 second') AS used_at
    FROM unnest(%(ids)s::text[], %(seconds_ago)s::float8[]) AS u (id, seconds_ago)
    GROUP BY u.id
), locked AS MATERIALIZED (
    SELECT k.id FROM callboard.api_keys k
    WHERE k.id = ANY (ARRAY(SELECT u.id FROM used u))
    ORDER BY k.id
    FOR NO KEY UPDATE
)
UPDATE callboard.api_keys k SET last_used_at = u.used_at
FROM locked l JOIN used u USING (id)
WHERE k.id = l.id AND (k.last_used_at IS NULL OR k.last_used_at < u.used_at)
