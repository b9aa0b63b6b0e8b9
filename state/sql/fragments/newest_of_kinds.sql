-- In newest_tasks, after `listed`: the newest tasks of the kinds that fit. Jumps from one kind to the next in the index that
-- `listed` follows. First a few tasks of each kind that fits say how old a task on this page can be; then only those that
-- are as new are read. So all of it costs a look for each kind, and about as many rows as the page has.
kinds AS (
    (SELECT l.kind, l.fits FROM listed l WHERE l.part = its_part ORDER BY l.part DESC, l.kind DESC, l.id DESC LIMIT 1)
    UNION ALL
    SELECT n.kind, n.fits
    FROM kinds k, LATERAL (
        SELECT l.kind, l.fits FROM listed l WHERE l.part = its_part AND l.kind < k.kind
        ORDER BY l.part DESC, l.kind DESC, l.id DESC LIMIT 1
    ) n
), fitting AS MATERIALIZED (
    SELECT k.kind, most / count(*) OVER () + 1 AS share FROM kinds k WHERE k.fits
), few AS MATERIALIZED (
    SELECT f.kind, n.id
    FROM fitting f, LATERAL (
        SELECT l.id FROM listed l WHERE l.part = its_part AND l.kind = f.kind AND l.id < before_id AND l.itself
        ORDER BY l.id DESC LIMIT f.share
    ) n
), bound AS MATERIALIZED (
    SELECT coalesce((SELECT f.id FROM few f ORDER BY f.id DESC OFFSET most - 1 LIMIT 1), '') AS oldest
)
SELECT n.id
FROM bound b, (SELECT DISTINCT f.kind FROM few f, bound b WHERE f.id >= b.oldest) AS f, LATERAL (
    SELECT l.id FROM listed l
    WHERE l.part = its_part AND l.kind = f.kind AND l.id < before_id AND l.id >= b.oldest AND l.itself
    ORDER BY l.id DESC LIMIT most
) n
ORDER BY n.id DESC LIMIT most
