-- A hint need not survive anything.
SELECT pg_notify(n.channel, n.payload), set_config('synchronous_commit', 'off', true)
FROM unnest(%(channels)s::text[], %(payloads)s::text[]) AS n (channel, payload)
