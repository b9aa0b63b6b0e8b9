-- The id comes from the caller, so a repetition after a lost connection adds nothing.
WITH added AS (
    INSERT INTO callboard.projects (id, name, tenant, created_at, updated_at)
    VALUES (%(id)s, %(name)s, %(tenant)s, callboard.now(), callboard.now())
    ON CONFLICT (id) DO NOTHING
    RETURNING id
)
INSERT INTO callboard.events (task_id, n, kind, at, data)
SELECT a.id, 1, 'queue', callboard.now(),
       '{"from": null, "to": "stopped", "mode": null, "run_id": null, "reason": "created", "seconds": null}'
FROM added a
