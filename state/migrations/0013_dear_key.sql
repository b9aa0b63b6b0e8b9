-- Written in plpgsql, so that the planner sees a call and its price: by this price the index below is the one way to look
-- for a key, whatever the statistics say, also in a plan that was made when the table was empty.
DROP INDEX callboard.tasks_fair;
CREATE OR REPLACE FUNCTION callboard.fair_key(queue text, lane text, priority smallint, tenant text) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 1000000
AS $$
BEGIN
    RETURN hashtextextended(queue, hashtextextended(lane, hashtextextended(coalesce(tenant, ''), priority)));
END $$;
CREATE INDEX tasks_fair ON callboard.tasks (callboard.fair_key(queue, lane, priority, tenant), rank) WHERE status = 'queued';

DROP FUNCTION IF EXISTS callboard.submit_one;  -- a statement of its own now
