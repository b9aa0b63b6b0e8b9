-- The actors that no worker knows and tasks wait for: how many tasks, and since when.
SELECT a.actor, count(*) AS tasks, min(t.updated_at) AS since
FROM callboard.awaited_actors() a
JOIN callboard.tasks t ON t.status = 'waiting' AND t.waiting_gate = 'actor:' || a.actor
WHERE NOT a.known AND (/*in_scope*/ t.tenant)
GROUP BY a.actor ORDER BY a.actor
