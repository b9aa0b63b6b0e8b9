SELECT pg_notify(n.channel, n.payload) FROM unnest(%(channels)s::text[], %(payloads)s::text[]) AS n (channel, payload)
