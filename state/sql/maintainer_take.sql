-- Makes the worker the maintainer, or renews that it is. Returns no row while another worker is the maintainer.
WITH vacant AS MATERIALIZED (
    SELECT only_row FROM callboard.maintainer
    WHERE worker_id IS NULL OR worker_id = %(worker)s
       OR callboard.now() NOT BETWEEN expires_at - make_interval(secs => %(seconds)s) AND expires_at
    FOR UPDATE SKIP LOCKED
)
UPDATE callboard.maintainer m
SET worker_id = %(worker)s, expires_at = callboard.now() + make_interval(secs => %(seconds)s)
FROM vacant v WHERE m.only_row = v.only_row
RETURNING m.worker_id
