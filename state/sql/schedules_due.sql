-- Schedules that are due, without those that somebody else is about to change. The locks end with the statement.
SELECT /*schedule_columns*/, callboard.now() AS now
FROM callboard.schedules s
WHERE s.next_at <= callboard.now()
ORDER BY s.next_at
LIMIT %(limit)s
FOR NO KEY UPDATE SKIP LOCKED
