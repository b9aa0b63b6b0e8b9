-- In error_groups, after `listed`: the groups whose newest dead letter is before an id, newest first, and how many there are of
-- each. Jumps from one group and kind to the next, in the index that `listed` follows; then the newest of each are read, so
-- many that all of them are `counted` at most.
found AS (
    (SELECT l.fingerprint, l.kind, l.fits FROM listed l WHERE l.fingerprint <= coalesce(wanted_group, 'g')
     ORDER BY l.fingerprint DESC, l.kind DESC, l.id DESC LIMIT 1)
    UNION ALL
    SELECT n.fingerprint, n.kind, n.fits
    FROM found f, LATERAL (
        SELECT l.fingerprint, l.kind, l.fits FROM listed l
        WHERE (l.fingerprint, l.kind) < (f.fingerprint, f.kind) AND l.fingerprint >= coalesce(wanted_group, '')
        ORDER BY l.fingerprint DESC, l.kind DESC, l.id DESC LIMIT 1
    ) n
), fitting AS MATERIALIZED (
    SELECT f.fingerprint, f.kind, n.id, n.actor
    FROM (SELECT * FROM found LIMIT most_found) AS f, LATERAL (
        SELECT l.id, l.actor FROM listed l WHERE l.fingerprint = f.fingerprint AND l.kind = f.kind AND l.itself
        ORDER BY l.id DESC LIMIT 1
    ) n
    WHERE f.fits AND f.fingerprint >= coalesce(wanted_group, '')
), newest AS MATERIALIZED (
    SELECT f.fingerprint, max(f.id) AS id FROM fitting f GROUP BY f.fingerprint
    HAVING max(f.id) < before_id ORDER BY 2 DESC LIMIT most
)
SELECT k.newest, k.fingerprint, k.actor, c.tasks, c.first_seen, c.last_seen, c.hours,
       CASE WHEN c.tasks = k.share THEN (
           SELECT l.finished_at FROM listed l WHERE l.fingerprint = k.fingerprint AND l.kind = k.kind AND l.itself
           ORDER BY l.id LIMIT 1) END
FROM (
    SELECT f.fingerprint, f.kind, f.actor, w.id AS newest, least(most_of_kind, greatest(10, counted / count(*) OVER ())) AS share
    FROM newest w JOIN fitting f ON f.fingerprint = w.fingerprint
) AS k, LATERAL (
    SELECT sum(h.tasks)::bigint AS tasks, min(h.first_seen) AS first_seen, max(h.last_seen) AS last_seen,
           jsonb_object_agg(h.hour, h.tasks) AS hours
    FROM (
        SELECT e.hour, count(*) AS tasks, min(e.finished_at) AS first_seen, max(e.finished_at) AS last_seen
        FROM (
            SELECT l.finished_at, least(24, greatest(0, floor(extract(epoch FROM moment - l.finished_at) / 3600)))::integer AS hour
            FROM listed l WHERE l.fingerprint = k.fingerprint AND l.kind = k.kind AND l.itself
            ORDER BY l.id DESC LIMIT k.share
        ) AS e GROUP BY e.hour
    ) AS h
) AS c
