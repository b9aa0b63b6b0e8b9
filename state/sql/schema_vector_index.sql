-- Returns the statement that makes the index of agent events by their vectors, where pgvector is there and the index is
-- not. The number of dimensions is that of providers/embedding/protocol.py; vectors of other lengths are not indexed.
SELECT format('CREATE INDEX CONCURRENTLY IF NOT EXISTS agent_events_embedding ON callboard.agent_events '
              'USING hnsw ((embedding::%1$I.vector(384)) %1$I.vector_cosine_ops) WHERE array_length(embedding, 1) = 384',
              n.nspname) AS text
FROM pg_extension x JOIN pg_namespace n ON n.oid = x.extnamespace
WHERE x.extname = 'vector'
  AND NOT EXISTS (SELECT FROM pg_index i
                  WHERE i.indexrelid = to_regclass('callboard.agent_events_embedding') AND i.indisvalid)
