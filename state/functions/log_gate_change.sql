-- What differs between two states of a gate, of what people set or code declares: {"max_concurrent": [3, 5]}.
CREATE OR REPLACE FUNCTION callboard.gate_difference(before callboard.gates, after callboard.gates) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_object_agg(b.key, jsonb_build_array(b.value, a.value))
    FROM jsonb_each(to_jsonb(before)) AS b JOIN jsonb_each(to_jsonb(after)) AS a USING (key)
    WHERE b.value <> a.value AND b.key NOT IN ('probe_task', 'probe_epoch', 'breaker_changed_at')
$$;

-- Writes into a gate's history what has changed, if anything.
CREATE OR REPLACE FUNCTION callboard.log_gate_change(
    before callboard.gates, after callboard.gates, its_origin text, its_by text
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    difference jsonb := callboard.gate_difference(before, after);
BEGIN
    IF difference IS NOT NULL THEN
        INSERT INTO callboard.gate_changes (gate, at, origin, by, changes)
        VALUES (after.key, callboard.now(), its_origin, its_by, difference);
    END IF;
END $$;
