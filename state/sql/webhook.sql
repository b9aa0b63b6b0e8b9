-- Reads where the moves of a task are reported.
SELECT t.webhook_url, t.webhook_events FROM callboard.tasks t
WHERE t.id = %(id)s AND t.hidden_at IS NULL AND (/*in_scope*/ t.tenant)
