-- Hides a finished task, and what an agent has done in it. Nothing is deleted: the audit trail keeps it.
WITH hidden AS (
    UPDATE callboard.tasks t
    SET hidden_at = callboard.now()
    WHERE t.id = %(id)s AND t.status IN (/*finished*/) AND t.hidden_at IS NULL AND (/*in_scope*/ t.tenant)
    RETURNING t.id, t.gates
), forgotten AS (
    UPDATE callboard.agent_events e SET hidden_at = callboard.now() FROM hidden h WHERE e.task_id = h.id
)
SELECT id, gates FROM hidden
