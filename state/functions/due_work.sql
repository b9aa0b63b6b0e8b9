-- Says which parts of the maintainer's turn have something to do. Each question is one look into an index, whatever the
-- statistics say: they are old when a burst has just arrived.
CREATE OR REPLACE FUNCTION callboard.due_work() RETURNS TABLE (
    schedules boolean, scheduled boolean, expired boolean, awaited boolean, lines boolean
) LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    schedules := EXISTS (SELECT FROM callboard.schedules s WHERE s.next_at <= callboard.now());
    scheduled := EXISTS (SELECT FROM callboard.tasks t
                         WHERE t.status = 'scheduled' AND t.available_at <= callboard.now());
    expired := EXISTS (SELECT FROM callboard.tasks t
                       WHERE t.status IN (/*startable*/) AND t.expires_at <= callboard.now());
    awaited := EXISTS (SELECT FROM callboard.tasks t
                       WHERE t.status = 'waiting' AND t.waiting_gate >= 'actor:' AND t.waiting_gate < 'actor;');
    lines := EXISTS (SELECT FROM callboard.tasks t WHERE t.status = 'waiting' AND t.waiting_gate > '');
    RETURN NEXT;
END $$;
