-- CTEs that follow `mine`, tasks that enter the queue together, and give each its rank, in `ranked`. Of `mine` they read
-- queue, lane, priority, tenant, and follower: how many of the same four come before it.
firsts AS MATERIALIZED (
    SELECT m.queue, m.lane, m.priority, m.tenant, callboard.entry_rank(m.queue, m.lane, m.priority, m.tenant) AS rank
    FROM mine m WHERE m.follower = 0
), ranked AS MATERIALIZED (
    SELECT mine.*, CASE WHEN mine.follower = 0 THEN f.rank ELSE (f.rank / 2 + mine.follower) * 2 + 1 END AS rank
    FROM mine JOIN firsts f
         ON f.queue = mine.queue AND f.lane = mine.lane AND f.priority = mine.priority
            AND f.tenant IS NOT DISTINCT FROM mine.tenant
)
