-- Says why a task waits: at which gate, what closes the gate now, the task's position in the line (counted up to a
-- limit), and an estimate of the time, made from the pace of its actor.
CREATE OR REPLACE FUNCTION callboard.why_waiting(t callboard.tasks) RETURNS jsonb LANGUAGE plpgsql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp  -- views call it for roles that may read nothing else
SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
DECLARE
    g callboard.gates;
    before integer;
    pace double precision;
    opens double precision := 0;
BEGIN
    SELECT * INTO g FROM callboard.gates WHERE key = t.waiting_gate;
    SELECT count(*) INTO before FROM (
        SELECT FROM callboard.tasks o
        WHERE o.status = 'waiting' AND o.waiting_gate = t.waiting_gate
          AND (o.priority, o.rank, o.id) < (t.priority, t.rank, t.id)
        LIMIT 10000
    ) AS better;
    SELECT p.seconds INTO pace FROM callboard.actor_pace p WHERE p.actor = t.actor;
    IF g.closed_until > callboard.now() THEN
        opens := extract(epoch FROM g.closed_until - callboard.now());
    ELSIF g.breaker_state = 'open' THEN
        opens := greatest(extract(epoch FROM g.breaker_changed_at - callboard.now()) + g.breaker_seconds, 0);
    END IF;
    RETURN jsonb_build_object(
        'reason', CASE
            WHEN g.paused THEN 'paused'
            WHEN g.closed_until > callboard.now() OR g.breaker_state <> 'closed' OR g.max_concurrent IS NULL
                THEN t.waiting_reason
            ELSE format('%s of %s running', (SELECT count(*) FROM callboard.slots s WHERE s.gate = g.key),
                        g.max_concurrent) END,
        'gate', t.waiting_gate,
        'position', before + 1,
        'eta_seconds', CASE
            WHEN g.paused OR pace IS NULL OR g.max_concurrent = 0 OR t.waiting_gate LIKE 'target:%' THEN NULL
            ELSE round((opens + ceil((before + 1)::numeric / coalesce(g.max_concurrent, 1)) * pace)::numeric, 1) END);
END $$;
