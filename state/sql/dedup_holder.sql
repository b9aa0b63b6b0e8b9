SELECT task_id FROM callboard.dedup
WHERE tenant = coalesce(%(tenant)s, '') AND actor = %(actor)s AND key = %(dedup_key)s
