-- Hides a finished task. Nothing is deleted: the audit trail keeps it.
UPDATE callboard.tasks
SET hidden_at = callboard.now()
WHERE id = %(id)s AND status IN (/*finished*/) AND hidden_at IS NULL
RETURNING id, gates
