-- Whether a live worker can run this actor's tasks of this queue. The maintainer marks silent workers as stopped, so the
-- others count as live.
CREATE OR REPLACE FUNCTION callboard.actor_is_known(its_actor text, its_queue text) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM callboard.workers w
        WHERE w.stopped_at IS NULL AND its_queue = ANY (w.queues) AND its_actor = ANY (w.actors))
$$;
