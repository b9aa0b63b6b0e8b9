-- Whether each of the words (a JSON list) is somewhere in a task: in its id, its names, its error, what it says of its
-- progress, or its payload, unless that is large. Upper and lower case are the same.
CREATE OR REPLACE FUNCTION callboard.has_words(t callboard.tasks, words jsonb) RETURNS boolean LANGUAGE plpgsql STABLE
AS $$
DECLARE
    said text COLLATE "default" := lower(concat_ws(E'\n', t.id, t.actor, t.queue, t.tenant, t.target, t.dedup_key, t.workflow_id,
        t.error ->> 'type', t.error ->> 'message', t.progress ->> 'message', callboard.unless_large(t.payload)::text)
        COLLATE "default");
BEGIN
    RETURN NOT EXISTS (
        SELECT FROM jsonb_array_elements_text(words) AS w (word) WHERE strpos(said, lower(w.word COLLATE "default")) = 0);
END $$;
