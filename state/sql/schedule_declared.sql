-- A schedule by its name, for code that declares it: the one that exists, or else the one that was deleted last.
SELECT /*schedule_columns*/, s.deleted_at, callboard.now() AS now
FROM callboard.schedules s
WHERE s.name = %(name)s AND s.tenant IS NULL AND (s.deleted_at IS NULL OR s.declared IS NOT NULL)
ORDER BY s.deleted_at DESC NULLS FIRST
LIMIT 1
