SELECT body_hash, answer FROM callboard.idempotency
WHERE tenant = %(tenant)s AND route = %(route)s AND key = %(key)s
  AND created_at >= callboard.now() - interval '24 hours'
