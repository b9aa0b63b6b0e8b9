-- Locks workflows, in the order of their ids, for tasks that join them. What it returns is as old as its snapshot: the
-- statuses are read by the next statement.
SELECT w.id FROM callboard.workflows w WHERE w.id = ANY (%(ids)s) AND (/*in_scope*/ w.tenant)
ORDER BY w.id FOR NO KEY UPDATE
