-- Deletes starts and results that no gate reads any more, dedup keys whose time is over, and old responses.
WITH starts AS (
    DELETE FROM callboard.gate_starts s USING callboard.gates g
    WHERE g.key = s.gate AND s.at < callboard.now() - make_interval(secs => coalesce(g.rate_seconds, 0))
), results AS (
    DELETE FROM callboard.gate_results r USING callboard.gates g
    WHERE g.key = r.gate AND r.at < callboard.now() - make_interval(secs => g.breaker_window + g.breaker_seconds)
      AND (r.task_id, r.epoch) IS DISTINCT FROM (g.probe_task, g.probe_epoch)
), keys AS (
    DELETE FROM callboard.dedup WHERE until < callboard.now()
), answers AS (
    DELETE FROM callboard.idempotency WHERE created_at < callboard.now() - interval '24 hours'
)
SELECT 1 AS done
