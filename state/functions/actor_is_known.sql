-- Whether a live worker can run this actor's tasks of this queue. One of release 15 does not say what it knows, and may. A
-- silent worker is marked as stopped by the maintainer, so those that are not are taken for alive.
CREATE OR REPLACE FUNCTION callboard.actor_is_known(its_actor text, its_queue text) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM callboard.workers w
        WHERE w.stopped_at IS NULL AND its_queue = ANY (w.queues) AND (w.actors IS NULL OR its_actor = ANY (w.actors)))
$$;
