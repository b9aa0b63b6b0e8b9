-- The place of a task among those of the same queue, lane and priority, taken when it enters the queue: fair queueing
-- among tenants. Each tenant's tasks go into rounds, one into each. A tenant with nothing queued joins the round after the
-- current one, before those that stand in it as followers (odd numbers). Not the current round: tenants that come back as
-- soon as their task has started would take every turn of it, and those with a backlog would never have theirs.
-- Read without locks: two that enter at the same moment may share a round, which harms nobody. The rounds start at the
-- clock, so what is put back comes first.
CREATE OR REPLACE FUNCTION callboard.entry_rank(its_queue text, its_lane text, its_priority smallint, its_tenant text)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    -- Not in the query itself: there it would have its price, and a plan for each call would look cheaper than one for all.
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

-- Pinned to the order of an index, which takes longer than the look itself: so only those ask who come first.
CREATE OR REPLACE FUNCTION callboard.current_round(its_queue text, its_lane text, its_priority smallint)
RETURNS bigint LANGUAGE plpgsql STABLE
SET enable_sort = off  -- whatever the statistics say
AS $$
DECLARE
    head bigint;
BEGIN
    SELECT t.rank INTO head FROM callboard.tasks t
    WHERE t.status = 'queued' AND t.queue = its_queue AND t.lane = its_lane AND t.priority = its_priority
    ORDER BY t.rank LIMIT 1;
    RETURN coalesce(head / 2, (extract(epoch FROM callboard.now()) * 1000000)::bigint);
END $$;
