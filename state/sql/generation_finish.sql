-- Contents that an earlier attempt has stored before it died are kept: ids that were given out stay valid.
WITH owner AS (
    SELECT id FROM callboard.tasks
    WHERE id = %(task_id)s AND epoch = %(epoch)s AND worker_id = %(worker)s AND status = 'running'
    FOR NO KEY UPDATE
), finished AS (
    UPDATE callboard.generations g
    SET status = 'completed', raw_response = %(raw_response)s, error = NULL, updated_at = callboard.now()
    FROM owner WHERE g.task_id = owner.id
    RETURNING g.id
), stored AS (
    INSERT INTO callboard.contents (id, generation_id, position, sha256, size, media_type, created_at)
    SELECT c.id, finished.id, c.position, c.sha256, c.size, c.media_type, callboard.now()
    FROM finished, unnest(%(ids)s::text[], %(hashes)s::text[], %(sizes)s::bigint[], %(types)s::text[])
                   WITH ORDINALITY AS c (id, sha256, size, media_type, position)
    ON CONFLICT (generation_id, position) DO UPDATE
    SET sha256 = excluded.sha256, size = excluded.size, media_type = excluded.media_type
    RETURNING id, position
)
SELECT finished.id, ARRAY(SELECT stored.id FROM stored ORDER BY stored.position) AS content_ids FROM finished
