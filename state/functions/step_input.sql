-- Returns the result of a completed step: that of its task; of a step with for_each the list of the results of its tasks;
-- of an approval the decision. Results that are too large for one list raise an error.
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
        IF callboard.result_size(its_workflow, its_key) > 33554432 THEN
            RAISE EXCEPTION 'The results of step % are larger than 32 MB in all', its_key USING ERRCODE = '54000';
        END IF;
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

-- Returns the bytes of the results of a step's tasks.
CREATE OR REPLACE FUNCTION callboard.result_size(its_workflow text, its_key text) RETURNS bigint LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
BEGIN
    RETURN (SELECT coalesce(sum(octet_length(t.result::text)), 0)
            FROM callboard.tasks t WHERE t.workflow_id = its_workflow AND t.step = its_key);
END $$;

-- Makes the inputs of a step's tasks: one, or with for_each one for each element. The problem says why that is not
-- possible. Everything is bounded before it is made: results have up to 32 MB, and may be used many times.
CREATE OR REPLACE FUNCTION callboard.make_inputs(s callboard.workflow_steps, OUT inputs jsonb[], OUT problem text)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    items jsonb := '[null]';
    base jsonb;
BEGIN
    inputs := '{}';
    IF s.for_each IS NOT NULL THEN
        SELECT f.filled, f.problem INTO items, problem
        FROM callboard.fill_in(s.workflow_id, s.for_each, coalesce(s.sources -> 'for_each', '[]'), NULL) AS f;
        problem := CASE
            WHEN problem IS NOT NULL THEN problem
            WHEN jsonb_typeof(items) <> 'array' THEN format('for_each needs a list and got: %s', jsonb_typeof(items))
            WHEN jsonb_array_length(items) > 1000 THEN
                format('for_each starts at most 1000 tasks; the list has %s elements', jsonb_array_length(items))
        END;
    END IF;
    IF problem IS NULL THEN
        SELECT f.filled, f.problem INTO base, problem
        FROM callboard.fill_in(s.workflow_id, s.input, coalesce(s.sources -> 'input', '[]'), NULL) AS f;
    END IF;
    IF problem IS NULL AND octet_length(base::text)::bigint * jsonb_array_length(items)
                           + octet_length(items::text)::bigint * coalesce(jsonb_array_length(s.sources -> 'items'), 0) > 67108864 THEN
        problem := 'The input is larger than 64 MB in all';
    END IF;
    IF problem IS NULL THEN
        SELECT coalesce(array_agg(f.filled ORDER BY i.place), '{}'), min(f.problem) INTO inputs, problem
        FROM jsonb_array_elements(items) WITH ORDINALITY AS i (item, place),
             callboard.fill_in(s.workflow_id, base, coalesce(s.sources -> 'items', '[]'), i.item) AS f;
    END IF;
    IF problem IS NULL AND EXISTS (SELECT FROM unnest(inputs) AS i (input) WHERE jsonb_typeof(i.input) <> 'object') THEN
        problem := 'The input of an agent must be an object';
    END IF;
EXCEPTION WHEN program_limit_exceeded THEN  -- the end of a task does not fail because the next step cannot start
    problem := SQLERRM;
END $$;
