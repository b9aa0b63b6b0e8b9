-- Returns the agent events nearest to a vector, by cosine, among those of the same model and as many dimensions. Where a
-- filter leaves few of them, all are compared: an index over all events would find hardly any of a small tenant's. Many
-- are searched by the index, which goes on until enough pass the filter. Dynamic, because without pgvector there are no
-- such types and operators, and nobody knows in which schema it is installed.
CREATE OR REPLACE FUNCTION callboard.nearest_agent_events(
    query real[], model text, of_tenant text, any_tenant boolean, of_agent text, of_type text, most integer
) RETURNS TABLE (id text, score double precision) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_sort = off  -- the index gives the order, whatever the statistics say
AS $$
DECLARE
    place text := (SELECT quote_ident(n.nspname) FROM pg_extension x JOIN pg_namespace n ON n.oid = x.extnamespace
                   WHERE x.extname = 'vector');
    few constant integer := 5000;
    size integer := array_length(query, 1);
    fits text := format('e.embedding_model = %L', model);
    distance text := format('(e.embedding::%1$s.vector(%2$s) OPERATOR(%1$s.<=>) $1::%1$s.vector(%2$s))', place, size);
    found integer;
BEGIN
    IF place IS NULL THEN  -- dropped since the caller has looked for it
        RETURN;
    END IF;
    IF NOT any_tenant THEN
        fits := fits || format(' AND coalesce(e.tenant, '''') = %L', coalesce(of_tenant, ''));
    END IF;
    IF of_agent IS NOT NULL THEN
        fits := fits || format(' AND e.agent_name = %L', of_agent);
    END IF;
    IF of_type IS NOT NULL THEN
        fits := fits || format(' AND e.task_type = %L', of_type);
    END IF;
    EXECUTE format('SELECT count(*) FROM (SELECT FROM callboard.agent_events e WHERE %s LIMIT %s) AS c', fits, few)
        INTO found;
    fits := fits || format(' AND array_length(e.embedding, 1) = %s AND e.hidden_at IS NULL', size);
    IF found < few THEN
        RETURN QUERY EXECUTE format(
            'WITH compared AS MATERIALIZED (SELECT e.id, %s AS distance FROM callboard.agent_events e WHERE %s) '
            'SELECT c.id, 1 - c.distance FROM compared c ORDER BY c.distance, c.id LIMIT %s', distance, fits, most)
            USING query;
        RETURN;
    END IF;
    PERFORM set_config('hnsw.iterative_scan', 'strict_order', true),
            set_config('hnsw.max_scan_tuples', '100000', true),
            set_config('hnsw.ef_search', least(greatest(2 * most, 100), 1000)::text, true);
    RETURN QUERY EXECUTE format(
        'SELECT e.id, 1 - %1$s FROM callboard.agent_events e WHERE %2$s ORDER BY %1$s LIMIT %3$s', distance, fits, most)
        USING query;
END $$;
