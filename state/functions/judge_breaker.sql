-- Moves a breaker according to the results since its last change. Called under the gate's lock. A service without
-- failures costs one look into an index; a service with failures is judged by its most recent results.
-- Only the probe's own result decides a half-open breaker. A probe that ended without saying anything about the
-- service (canceled, lost, released, refused for its input) makes way for another one.
CREATE OR REPLACE FUNCTION callboard.judge_breaker(g callboard.gates) RETURNS callboard.gates LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    since timestamptz;
    failures integer;
    results integer;
    probe_failed boolean;
    before text := g.breaker_state;
    had_probe text := g.probe_task;
BEGIN
    IF g.breaker_state = 'closed' THEN
        since := greatest(callboard.now() - make_interval(secs => g.breaker_window),
                          coalesce(g.breaker_changed_at, '-infinity'));
        IF EXISTS (SELECT FROM callboard.gate_results r WHERE r.gate = g.key AND r.failed AND r.at > since) THEN
            SELECT count(*), count(*) FILTER (WHERE r.failed) INTO results, failures
            FROM (SELECT r.failed FROM callboard.gate_results r
                  WHERE r.gate = g.key AND r.at > since
                  ORDER BY r.at DESC LIMIT greatest(g.breaker_volume, 1000)) AS r;
            IF results >= g.breaker_volume AND failures >= g.breaker_threshold * results THEN
                g.breaker_state := 'open';
            END IF;
        END IF;
    ELSIF g.breaker_state = 'open' THEN
        IF callboard.now() >= g.breaker_changed_at + make_interval(secs => g.breaker_seconds) THEN
            g.breaker_state := 'half_open';
        END IF;
    ELSIF g.probe_task IS NOT NULL THEN
        SELECT r.failed INTO probe_failed FROM callboard.gate_results r
        WHERE r.gate = g.key AND r.at >= g.breaker_changed_at
          AND r.task_id = g.probe_task AND r.epoch = g.probe_epoch;
        IF probe_failed IS NOT NULL THEN
            g.breaker_state := CASE WHEN probe_failed THEN 'open' ELSE 'closed' END;
        END IF;
        IF probe_failed IS NOT NULL OR NOT EXISTS (
            SELECT FROM callboard.leases l WHERE l.task_id = g.probe_task AND l.epoch = g.probe_epoch) THEN
            g.probe_task := NULL;
            g.probe_epoch := NULL;
        END IF;
    END IF;
    IF g.breaker_state <> before THEN
        g.breaker_changed_at := callboard.now();
    END IF;
    IF g.breaker_state <> before OR g.probe_task IS DISTINCT FROM had_probe THEN
        UPDATE callboard.gates
        SET breaker_state = g.breaker_state, breaker_changed_at = g.breaker_changed_at,
            probe_task = g.probe_task, probe_epoch = g.probe_epoch
        WHERE key = g.key;
    END IF;
    IF before = 'closed' AND g.breaker_state = 'open' OR g.breaker_state = 'closed' AND before <> 'closed' THEN
        INSERT INTO callboard.gate_changes (gate, at, origin, changes)
        VALUES (g.key, callboard.now(), 'breaker',
                jsonb_build_object('breaker_state', jsonb_build_array(before, g.breaker_state)));
    END IF;
    RETURN g;
END $$;
