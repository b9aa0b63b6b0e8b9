SELECT pg_try_advisory_xact_lock(
    hashtextextended(%(tenant)s || chr(31) || %(route)s || chr(31) || %(key)s, 0)) AS locked
