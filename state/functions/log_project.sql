-- Adds an event to the history of a project, whose row the caller has locked. Returns its n.
CREATE OR REPLACE FUNCTION callboard.log_project(its_id text, its_kind text, its_data jsonb) RETURNS integer
LANGUAGE sql VOLATILE AS $$
    WITH counted AS (
        UPDATE callboard.projects p SET last_event = p.last_event + 1, updated_at = callboard.now()
        WHERE p.id = its_id
        RETURNING p.id, p.last_event
    )
    INSERT INTO callboard.events (task_id, n, kind, at, data)
    SELECT c.id, c.last_event, its_kind, callboard.now(), its_data FROM counted c
    RETURNING n
$$;

-- A change of the queue's state. seconds: how long the state before has lasted. Returns the event's data.
CREATE OR REPLACE FUNCTION callboard.log_queue(
    its_id text, before text, after text, its_mode text, its_run text, why text, since timestamptz, more jsonb DEFAULT '{}'
) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    change jsonb := jsonb_build_object(
        'from', before, 'to', after, 'mode', its_mode, 'run_id', its_run, 'reason', why,
        'seconds', round(extract(epoch FROM callboard.now() - since), 3)) || more;
BEGIN
    PERFORM callboard.log_project(its_id, 'queue', change);
    RETURN change;
END $$;

-- A change of an item's status.
CREATE OR REPLACE FUNCTION callboard.log_item(i callboard.project_items, before text, its_run text, why text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM callboard.log_item(i, before, its_run, why, NULL);
END $$;

-- by_whom: the person who has asked for it; NULL: nobody, or nobody knows.
CREATE OR REPLACE FUNCTION callboard.log_item(
    i callboard.project_items, before text, its_run text, why text, by_whom text
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM callboard.log_project(i.project_id, 'item', jsonb_strip_nulls(jsonb_build_object(
        'item_id', i.id, 'title', i.title, 'to', i.status, 'run_id', its_run, 'reason', why, 'by', by_whom))
        || jsonb_build_object('from', before));
END $$;
