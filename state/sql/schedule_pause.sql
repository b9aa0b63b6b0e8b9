-- Pauses a schedule, or lets it go on with the tick next_at. One that is so already stays as it is.
UPDATE callboard.schedules s
SET paused = %(next_at)s::timestamptz IS NULL, next_at = %(next_at)s::timestamptz, revision = s.revision + 1,
    updated_at = callboard.now()
WHERE s.id = %(id)s AND s.deleted_at IS NULL AND (/*in_scope*/ s.tenant)
  AND s.paused <> (%(next_at)s::timestamptz IS NULL)
RETURNING s.id
