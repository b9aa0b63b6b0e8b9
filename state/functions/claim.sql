-- For workers of release 15: they have threads only, wake gates together with their claim, and do not say which actors
-- they know.
CREATE OR REPLACE FUNCTION callboard.claim(
    worker text, claim_no bigint, queue_names text[], free_threads integer, ahead integer, short_actors text[],
    retry_share double precision, lease interval, freed_gates text[]
) RETURNS TABLE (
    id text, epoch integer, actor text, queue text, lane text, attempt integer, attempts_before integer,
    max_attempts integer, payload jsonb,
    checkpoint jsonb, tokens bigint, cost numeric, tenant text, to_wake text[], contended boolean
) LANGUAGE plpgsql
AS $$
BEGIN
    IF cardinality(freed_gates) > 0 THEN
        PERFORM callboard.wake(freed_gates);
    END IF;
    RETURN QUERY
    SELECT c.id, c.epoch, c.actor, c.queue, c.lane, c.attempt, c.attempts_before, c.max_attempts, c.payload,
           c.checkpoint, c.tokens, c.cost, c.tenant, c.to_wake, c.contended
    FROM callboard.claim_tasks(
        worker, claim_no, queue_names, '{}', free_threads, 0, ahead, short_actors, NULL, retry_share, lease) AS c;
END $$;
