-- Estimates the seconds until a task of the actor starts that has this position in a gate's line, from the pace of the
-- actor. NULL if nobody knows.
CREATE OR REPLACE FUNCTION callboard.estimate_wait(its_gate text, g callboard.gates, its_actor text, place bigint)
RETURNS double precision LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN g.paused OR g.max_concurrent = 0 OR its_gate LIKE 'target:%' THEN NULL
                ELSE round((o.opens + ceil(place::numeric / coalesce(g.max_concurrent, 1)) * p.seconds)::numeric, 1) END
    FROM callboard.actor_pace p, LATERAL (
        SELECT CASE WHEN g.closed_until > callboard.now() THEN extract(epoch FROM g.closed_until - callboard.now())
                    WHEN g.breaker_state = 'open'
                    THEN greatest(extract(epoch FROM g.breaker_changed_at - callboard.now()) + g.breaker_seconds, 0)
                    ELSE 0 END AS opens
    ) AS o
    WHERE p.actor = its_actor
$$;

-- Says for whom a task waits that stands at its target's gate: the stored reason is that of the moment when it stopped there.
CREATE OR REPLACE FUNCTION callboard.why_waiting_at_target(t callboard.tasks) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN EXISTS (SELECT FROM callboard.slots s WHERE s.gate = t.waiting_gate)
                THEN 'another task of this target is running'
                ELSE (SELECT 'an earlier task of this target is '
                             || CASE WHEN e.status IN ('dead', 'paused') THEN e.status ELSE 'unfinished' END
                      FROM callboard.tasks e
                      WHERE coalesce(e.tenant, '') = coalesce(t.tenant, '') AND e.target = t.target
                        AND e.status NOT IN (/*terminal*/) AND e.hidden_at IS NULL AND (e.created_at, e.id) < (t.created_at, t.id)
                      ORDER BY e.created_at, e.id LIMIT 1) END
$$;

-- Says why a task waits: at which gate, what closes the gate now, the task's position in the line (counted up to a
-- limit), and an estimate of the time, made from the pace of its actor.
CREATE OR REPLACE FUNCTION callboard.why_waiting(t callboard.tasks) RETURNS jsonb LANGUAGE plpgsql STABLE
SECURITY DEFINER SET search_path = pg_catalog, pg_temp  -- views call it for roles that may read nothing else
SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
DECLARE
    g callboard.gates;
    before integer;
BEGIN
    SELECT * INTO g FROM callboard.gates WHERE key = t.waiting_gate;
    SELECT count(*) INTO before FROM (
        SELECT FROM callboard.tasks o
        WHERE o.status = 'waiting' AND o.waiting_gate = t.waiting_gate
          AND (o.priority, o.rank, o.id) < (t.priority, t.rank, t.id)
        LIMIT 10000
    ) AS better;
    RETURN jsonb_build_object(
        'reason', CASE
            WHEN g.paused THEN 'paused'
            WHEN t.waiting_gate LIKE 'target:%' THEN coalesce(callboard.why_waiting_at_target(t), t.waiting_reason)
            WHEN g.closed_until > callboard.now() OR g.breaker_state <> 'closed' OR g.max_concurrent IS NULL
                THEN t.waiting_reason
            ELSE format('%s of %s running', (SELECT count(*) FROM callboard.slots s WHERE s.gate = g.key),
                        g.max_concurrent) END,
        'gate', t.waiting_gate,
        'position', before + 1,
        'eta_seconds', callboard.estimate_wait(t.waiting_gate, g, t.actor, before + 1));
END $$;
