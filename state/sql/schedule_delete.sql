-- Its history stays. Code that declares the schedule does not bring it back.
UPDATE callboard.schedules s
SET deleted_at = callboard.now(), next_at = NULL, revision = s.revision + 1, updated_at = callboard.now()
WHERE s.id = %(id)s AND s.deleted_at IS NULL AND (/*in_scope*/ s.tenant)
RETURNING s.id
