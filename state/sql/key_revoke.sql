-- All operators' keys are locked, in order, before they are counted. A revocation that this one has waited for is seen:
-- a row is tested again after its lock was waited for. The key that asks must be one of them: a server may know a revoked
-- one for seconds.
WITH operators AS MATERIALIZED (
    SELECT o.id FROM callboard.api_keys o
    WHERE o.role = 'operator' AND o.tenant IS NULL AND o.revoked_at IS NULL
    ORDER BY o.id
    FOR NO KEY UPDATE
)
UPDATE callboard.api_keys k SET revoked_at = callboard.now(), revoked_by = %(by)s
WHERE k.id = %(id)s AND k.revoked_at IS NULL
  AND ((SELECT count(*) FROM operators) > 1 OR %(last)s OR NOT k.id = ANY (ARRAY(SELECT id FROM operators)))
  AND (%(by_key)s::text IS NULL OR %(by_key)s = ANY (ARRAY(SELECT id FROM operators)))
RETURNING /*key_columns*/
