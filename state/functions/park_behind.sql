-- Moves tasks near the head of these queues that would stop at a full gate to its line together, so that a burst for
-- one provider does not keep tasks of others from being claimed. They are found without locks, as other workers may
-- claim the tasks in between.
CREATE OR REPLACE FUNCTION callboard.park_behind(full_gates text[], queue_names text[], but_not text[]) RETURNS integer LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_hashjoin = off
SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    heads record;
BEGIN
    SELECT array_agg(h.id) AS ids, array_agg(h.last_event) AS events, array_agg(h.gate) AS gates
    INTO heads
    FROM unnest(queue_names) AS q (queue), unnest(ARRAY['primary', 'retry']) AS l (lane),
         LATERAL (
            SELECT t.id, t.last_event,
                   CASE WHEN t.gates && full_gates AND t.id <> ALL (but_not)
                        THEN (SELECT k FROM unnest(t.gates) AS k WHERE k = ANY (full_gates) LIMIT 1) END AS gate
            FROM callboard.tasks t
            WHERE t.status = 'queued' AND t.queue = q.queue AND t.lane = l.lane AND t.woken_for IS NULL
            ORDER BY t.priority, t.rank, t.id
            LIMIT 1000
         ) h
    WHERE h.gate IS NOT NULL;
    IF heads.ids IS NULL THEN
        RETURN 0;
    END IF;
    RETURN callboard.park_tasks(heads.ids, heads.events, heads.gates, 'others stand in line before it');
END $$;
