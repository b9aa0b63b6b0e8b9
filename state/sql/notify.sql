-- Never part of a transaction that writes: then this one's commit has nothing to flush.
SELECT pg_notify(%(channel)s, %(payload)s)
