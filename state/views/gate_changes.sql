DROP VIEW IF EXISTS admin.gate_changes;
CREATE VIEW admin.gate_changes AS
SELECT c.id, c.at, c.gate, c.origin, c.by, f.field, f.value -> 0 AS before, f.value -> 1 AS after
FROM callboard.gate_changes c, jsonb_each(c.changes) AS f (field, value);

COMMENT ON VIEW admin.gate_changes IS 'What operators, the code and breakers have changed at gates, a row for each field.';
