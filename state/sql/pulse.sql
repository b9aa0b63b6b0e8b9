-- Renews all leases of a worker. Rows that a settle or a cancel has locked are skipped (waiting for them could
-- deadlock) and renewed at the next beat; the answer lists every lease all the same.
WITH seen AS (
    UPDATE callboard.workers SET seen_at = callboard.now(), stopped_at = NULL WHERE id = %(worker)s
), mine AS MATERIALIZED (
    SELECT task_id FROM callboard.leases
    WHERE worker_id = %(worker)s
    ORDER BY task_id
    FOR UPDATE SKIP LOCKED
), renewed AS (
    UPDATE callboard.leases l
    SET renewed_at = callboard.now(), expires_at = callboard.now() + make_interval(secs => %(lease_seconds)s)
    FROM mine WHERE l.task_id = mine.task_id
)
SELECT task_id AS id, epoch, claim_number, cancel_requested FROM callboard.leases WHERE worker_id = %(worker)s
