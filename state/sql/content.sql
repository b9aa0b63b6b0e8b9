SELECT id, generation_id, position, sha256, size, media_type, created_at FROM callboard.contents WHERE id = %(id)s
