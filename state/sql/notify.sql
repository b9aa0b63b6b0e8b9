-- Never part of a transaction that writes, so that its commit has nothing to flush.
SELECT pg_notify(%(channel)s, %(payload)s)
