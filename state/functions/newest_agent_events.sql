-- Returns the newest agent events that fit the filters. They are found kind by kind: the agents and task types there are,
-- each with an index entry to begin at. wanted: {agent_name, task_type, tenant, scope, since, until}; scope: the tenant of
-- the caller.
CREATE OR REPLACE FUNCTION callboard.newest_agent_events(wanted jsonb, before_id text, most integer) RETURNS TABLE (id text)
LANGUAGE plpgsql STABLE
-- Every step is a look into an index, whatever the statistics say.
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    wanted_agent text := wanted ->> 'agent_name';
    wanted_type text := wanted ->> 'task_type';
    wanted_tenant text := coalesce(wanted ->> 'scope', wanted ->> 'tenant');
    since timestamptz := coalesce(wanted ->> 'since', '-infinity');
    until timestamptz := coalesce(wanted ->> 'until', 'infinity');
    from_id text := callboard.id_bound('ae_', since, '-1 minute');  -- an id is made a moment before or after its event
    to_id text := least(before_id, callboard.id_bound('ae_', until, '1 minute'));
BEGIN
    IF wanted ->> 'tenant' <> wanted_tenant THEN  -- another one than the caller's own
        RETURN;
    END IF;
    IF wanted_tenant IS NULL THEN
        RETURN QUERY
        WITH RECURSIVE kinds AS (
            (SELECT e.agent_name, e.task_type FROM callboard.agent_events e
             WHERE e.hidden_at IS NULL AND e.agent_name >= coalesce(wanted_agent, '')
             ORDER BY e.agent_name, e.task_type LIMIT 1)
            UNION ALL
            SELECT n.agent_name, n.task_type FROM kinds k CROSS JOIN LATERAL (
                SELECT e.agent_name, e.task_type FROM callboard.agent_events e
                WHERE e.hidden_at IS NULL AND (e.agent_name, e.task_type) > (k.agent_name, k.task_type)
                ORDER BY e.agent_name, e.task_type LIMIT 1) AS n
            WHERE wanted_agent IS NULL OR k.agent_name <= wanted_agent
        )
        SELECT n.id FROM kinds k CROSS JOIN LATERAL (
            SELECT e.id FROM callboard.agent_events e
            WHERE e.hidden_at IS NULL AND e.agent_name = k.agent_name AND e.task_type = k.task_type
              AND e.id >= from_id AND e.id < to_id AND e.created_at >= since AND e.created_at < until
            ORDER BY e.id DESC LIMIT most) AS n
        WHERE (wanted_agent IS NULL OR k.agent_name = wanted_agent) AND (wanted_type IS NULL OR k.task_type = wanted_type)
        ORDER BY n.id DESC LIMIT most;
    ELSE
        RETURN QUERY
        WITH RECURSIVE kinds AS (
            (SELECT e.agent_name, e.task_type FROM callboard.agent_events e
             WHERE e.hidden_at IS NULL AND e.tenant = wanted_tenant AND e.agent_name >= coalesce(wanted_agent, '')
             ORDER BY e.agent_name, e.task_type LIMIT 1)
            UNION ALL
            SELECT n.agent_name, n.task_type FROM kinds k CROSS JOIN LATERAL (
                SELECT e.agent_name, e.task_type FROM callboard.agent_events e
                WHERE e.hidden_at IS NULL AND e.tenant = wanted_tenant
                  AND (e.agent_name, e.task_type) > (k.agent_name, k.task_type)
                ORDER BY e.agent_name, e.task_type LIMIT 1) AS n
            WHERE wanted_agent IS NULL OR k.agent_name <= wanted_agent
        )
        SELECT n.id FROM kinds k CROSS JOIN LATERAL (
            SELECT e.id FROM callboard.agent_events e
            WHERE e.hidden_at IS NULL AND e.tenant = wanted_tenant
              AND e.agent_name = k.agent_name AND e.task_type = k.task_type
              AND e.id >= from_id AND e.id < to_id AND e.created_at >= since AND e.created_at < until
            ORDER BY e.id DESC LIMIT most) AS n
        WHERE (wanted_agent IS NULL OR k.agent_name = wanted_agent) AND (wanted_type IS NULL OR k.task_type = wanted_type)
        ORDER BY n.id DESC LIMIT most;
    END IF;
END $$;

-- Returns the first id with a prefix that can be made at a moment, moved by some time.
CREATE OR REPLACE FUNCTION callboard.id_bound(prefix text, moment timestamptz, moved interval) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT prefix || CASE
        WHEN moment = 'infinity' THEN 'g'  -- after every id
        WHEN moment = '-infinity' THEN ''
        ELSE lpad(to_hex(greatest((extract(epoch FROM moment + moved) * 1000)::bigint, 0)), 12, '0') END
$$;
