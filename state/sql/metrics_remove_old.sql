-- Deletes some of the minutes that are older than `days` days. Their days are added up, for good. Those of tenants are kept
-- for a day.
WITH of_tenants AS (
    DELETE FROM callboard.tenant_metrics
    WHERE ctid = ANY (ARRAY(
        SELECT q.ctid FROM callboard.tenant_metrics q WHERE q.minute < callboard.now() - interval '1 day'
        LIMIT %(limit)s))
)
DELETE FROM callboard.task_queue_metrics
WHERE ctid = ANY (ARRAY(
    SELECT q.ctid FROM callboard.metrics_progress p, callboard.task_queue_metrics q
    WHERE q.minute < date_trunc('day', least(callboard.now() - make_interval(days => %(days)s), p.final_until), 'UTC')
    ORDER BY q.minute
    LIMIT %(limit)s))
RETURNING minute
