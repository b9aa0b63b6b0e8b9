-- What closes a gate whatever its limits are; NULL if nothing does.
CREATE OR REPLACE FUNCTION callboard.gate_closure(g callboard.gates) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT CASE WHEN g.paused THEN 'paused' WHEN g.closed_until > callboard.now() THEN 'closed'
                WHEN g.breaker_state = 'open' THEN 'breaker_open'
                WHEN g.breaker_state = 'half_open' THEN 'breaker_half_open' END
$$;

-- Says how a gate is used now, and when the next task can start there. A gate may have no row: tasks name it, and
-- nobody limits it. Changes nothing: a breaker is judged when a task wants to start.
-- state: open if a task could start now, else what prevents it. next_at: when that ends, if it is known; for a full gate an
-- estimate, made from the pace of the actors that run there.
-- rate_left: how many more may start in the window; rate_next_at: when one of the starts leaves the window.
CREATE OR REPLACE FUNCTION callboard.describe_gate(
    gate_key text, g callboard.gates,
    OUT running bigint, OUT waiting bigint, OUT rate_left integer, OUT rate_next_at timestamptz,
    OUT state text, OUT next_at timestamptz
) LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    last_start bigint;
    oldest record;
BEGIN
    SELECT count(*) INTO running FROM callboard.slots s WHERE s.gate = gate_key;
    SELECT count(*) INTO waiting FROM callboard.tasks t WHERE t.status = 'waiting' AND t.waiting_gate = gate_key;
    IF g.rate_count IS NOT NULL THEN
        SELECT s.n INTO last_start FROM callboard.gate_starts s WHERE s.gate = gate_key ORDER BY s.n DESC LIMIT 1;
        last_start := coalesce(last_start, 0);
        SELECT s.n, s.at INTO oldest FROM callboard.gate_starts s
        WHERE s.gate = gate_key AND s.n > last_start - g.rate_count
          AND s.at > callboard.now() - make_interval(secs => g.rate_seconds)
        ORDER BY s.n LIMIT 1;
        rate_left := least(g.rate_count, coalesce(oldest.n - (last_start - g.rate_count) - 1, g.rate_count));
        rate_next_at := oldest.at + make_interval(secs => g.rate_seconds);
    END IF;
    state := callboard.gate_closure(g);
    IF state = 'closed' THEN
        next_at := g.closed_until;
    ELSIF state = 'breaker_open' THEN
        next_at := g.breaker_changed_at + make_interval(secs => g.breaker_seconds);
    ELSIF state = 'breaker_half_open' AND g.probe_task IS NULL THEN
        state := 'open';  -- for one task, the probe
    ELSIF state IS NOT NULL THEN
        NULL;  -- until somebody resumes it, or the probe has ended
    ELSIF running >= g.max_concurrent OR gate_key LIKE 'target:%' AND running > 0 THEN
        state := 'full';
        -- After a limit was lowered, several have to end before the next one starts.
        SELECT l.started_at + make_interval(secs => p.seconds) AS ends INTO next_at
        FROM (SELECT s.task_id FROM callboard.slots s WHERE s.gate = gate_key LIMIT 1000) AS h
        JOIN callboard.leases l ON l.task_id = h.task_id
        JOIN callboard.tasks t ON t.id = h.task_id
        JOIN callboard.actor_pace p ON p.actor = t.actor
        ORDER BY ends OFFSET running - least(running, coalesce(g.max_concurrent, running)) LIMIT 1;
    ELSIF rate_left = 0 THEN
        state := 'rate';
        next_at := rate_next_at;
    ELSIF gate_key LIKE 'target:%' AND waiting > 0 THEN
        state := 'blocked';  -- by a task that is paused, dead or scheduled
    ELSIF gate_key LIKE 'actor:%' AND waiting > 0 THEN
        state := 'unknown_actor';
    ELSE
        state := 'open';
    END IF;
END $$;
