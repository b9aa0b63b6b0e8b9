-- Hides a finished task, and what an agent has done in it. Nothing is deleted: the audit trail keeps it.
WITH hidden AS (
    UPDATE callboard.tasks
    SET hidden_at = callboard.now()
    WHERE id = %(id)s AND status IN (/*finished*/) AND hidden_at IS NULL
    RETURNING id, gates
), forgotten AS (
    UPDATE callboard.agent_events e SET hidden_at = callboard.now() FROM hidden h WHERE e.task_id = h.id
)
SELECT id, gates FROM hidden
