SELECT t.*, l.renewed_at AS heartbeat_at, l.expires_at AS lease_expires_at,
       ARRAY(SELECT a.error FROM callboard.attempts a
             WHERE a.task_id = t.id AND a.error IS NOT NULL ORDER BY a.epoch) AS error_history,
       CASE WHEN t.status = 'waiting' THEN callboard.why_waiting(t) END AS waiting
FROM callboard.tasks t LEFT JOIN callboard.leases l ON l.task_id = t.id
WHERE t.id = ANY (%(ids)s) AND t.hidden_at IS NULL
