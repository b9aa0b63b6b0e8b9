-- Returns the rank of a task among those of the same queue, lane and priority when it enters the queue: fair queueing
-- among tenants. Each tenant's tasks go into rounds, one into each. A tenant with nothing queued joins the round after
-- the current one, before the followers (odd numbers) of that round. It does not join the current round: tenants that
-- submit again as soon as their task has started would take every turn of it, and a tenant with a backlog would never
-- get one.
-- Reads without locks: two tasks that enter at the same moment may share a round, which does no harm. Rounds start at
-- the clock, so that tasks that are put back come first.
CREATE OR REPLACE FUNCTION callboard.entry_rank(its_queue text, its_lane text, its_priority smallint, its_tenant text)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    -- Not in the query itself: its cost there would make a new plan for each call look cheaper than a generic one.
    its_key bigint := callboard.fair_key(its_queue, its_lane, its_priority, its_tenant);
    last bigint;
BEGIN
    SELECT t.rank INTO last FROM callboard.tasks t
    WHERE t.status = 'queued' AND callboard.fair_key(t.queue, t.lane, t.priority, t.tenant) = its_key
    ORDER BY t.rank DESC LIMIT 1;
    IF last IS NOT NULL THEN
        RETURN (last / 2 + 1) * 2 + 1;
    END IF;
    RETURN (callboard.current_round(its_queue, its_lane, its_priority) + 1) * 2;
END $$;

-- A function of its own, called only for a tenant with nothing queued: the SET that forces the order of the index takes
-- longer than the query.
CREATE OR REPLACE FUNCTION callboard.current_round(its_queue text, its_lane text, its_priority smallint)
RETURNS bigint LANGUAGE plpgsql STABLE
SET enable_sort = off  -- the index gives the order, whatever the statistics say
AS $$
DECLARE
    head bigint;
BEGIN
    SELECT t.rank INTO head FROM callboard.tasks t
    WHERE t.status = 'queued' AND t.queue = its_queue AND t.lane = its_lane AND t.priority = its_priority
    ORDER BY t.rank LIMIT 1;
    RETURN coalesce(head / 2, (extract(epoch FROM callboard.now()) * 1000000)::bigint);
END $$;
