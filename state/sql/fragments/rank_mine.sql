-- CTEs that follow `mine`, tasks that enter the queue together, and give each its rank, in `ranked`. Of `mine` they read
-- queue, lane, priority, tenant, and follower: how many of the same four come before it.
firsts AS MATERIALIZED (
    SELECT m.queue, m.lane, m.priority, m.tenant, callboard.entry_rank(m.queue, m.lane, m.priority, m.tenant) AS rank
    FROM mine m WHERE m.follower = 0
), ranked AS MATERIALIZED (
    SELECT m.*, CASE WHEN m.follower = 0 THEN f.rank ELSE (f.rank / 2 + m.follower) * 2 + 1 END AS rank
    FROM mine m JOIN firsts f
         ON f.queue = m.queue AND f.lane = m.lane AND f.priority = m.priority AND f.tenant IS NOT DISTINCT FROM m.tenant
)
