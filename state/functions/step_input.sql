-- Returns the result of a completed step: that of its task; of a step with for_each the list of the results of its tasks;
-- of an approval the decision. NULL if there is no such step.
CREATE OR REPLACE FUNCTION callboard.step_result(its_workflow text, its_key text) RETURNS jsonb LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
DECLARE
    s record;
BEGIN
    SELECT x.kind, x.for_each, x.decision, x.decided_by, x.note, x.decided_at INTO s
    FROM callboard.workflow_steps x WHERE x.workflow_id = its_workflow AND x.key = its_key;
    IF s.kind = 'approval' THEN
        RETURN jsonb_build_object('decision', s.decision, 'by', s.decided_by, 'note', s.note, 'at', s.decided_at);
    ELSIF s.for_each IS NOT NULL THEN
        RETURN (SELECT coalesce(jsonb_agg(coalesce(t.result, 'null') ORDER BY t.branch), '[]')
                FROM callboard.tasks t WHERE t.workflow_id = its_workflow AND t.step = its_key);
    END IF;
    RETURN (SELECT coalesce(t.result, 'null')
            FROM callboard.tasks t WHERE t.workflow_id = its_workflow AND t.step = its_key AND t.branch = 0);
END $$;

-- Puts values into a text of JSON: each source says where (`at`, the path in the target; empty: the whole target) and
-- what: the part `path` of the result of a step, or, without a step, of the item. Values are never looked into for
-- further sources. The problem says what is missing.
CREATE OR REPLACE FUNCTION callboard.fill_in(
    its_workflow text, target jsonb, sources jsonb, item jsonb, OUT filled jsonb, OUT problem text
) LANGUAGE plpgsql STABLE AS $$
DECLARE
    source record;
    results jsonb := '{}';  -- by step: a step is read once
    value jsonb;
BEGIN
    filled := target;
    FOR source IN
        SELECT ARRAY(SELECT jsonb_array_elements_text(e -> 'at')) AS at, e ->> 'step' AS step,
               ARRAY(SELECT jsonb_array_elements_text(e -> 'path')) AS path
        FROM jsonb_array_elements(sources) AS e
    LOOP
        IF source.step IS NULL THEN
            value := item #> source.path;
        ELSE
            IF NOT results ? source.step THEN
                results := results || jsonb_build_object(source.step, callboard.step_result(its_workflow, source.step));
            END IF;
            value := results -> source.step #> source.path;
        END IF;
        IF value IS NULL THEN
            problem := format('%s has no %s', coalesce(format('The result of step %s', source.step), 'The item'),
                              array_to_string(source.path, '.'));
            RETURN;
        END IF;
        filled := CASE WHEN source.at = '{}' THEN value ELSE jsonb_set(filled, source.at, value, false) END;
    END LOOP;
END $$;
