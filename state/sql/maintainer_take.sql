-- Makes the worker the maintainer, or renews that it is, and says what there is to do: an idle cluster asks nothing else.
-- Returns no row while another worker is the maintainer.
WITH vacant AS MATERIALIZED (
    SELECT only_row FROM callboard.maintainer
    WHERE worker_id IS NULL OR worker_id = %(worker)s
       OR callboard.now() NOT BETWEEN expires_at - make_interval(secs => %(seconds)s) AND expires_at
    FOR UPDATE SKIP LOCKED
), taken AS (
    UPDATE callboard.maintainer m
    SET worker_id = %(worker)s, expires_at = callboard.now() + make_interval(secs => %(seconds)s)
    FROM vacant v WHERE m.only_row = v.only_row
    RETURNING m.worker_id
)
SELECT d.schedules, d.scheduled, d.expired, d.awaited, d.lines, s.workers, s.seen_at, s.renewed_at
FROM taken, LATERAL callboard.due_work() d, LATERAL (
    SELECT coalesce(array_agg(l.worker_id), '{}') AS workers, coalesce(array_agg(l.seen_at), '{}') AS seen_at,
           coalesce(array_agg(l.renewed_at), '{}') AS renewed_at
    FROM (/*last_seen*/) l
) s
