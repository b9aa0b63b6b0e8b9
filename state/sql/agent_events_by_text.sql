-- Ranks the newest 1000 events that have all of the words, and the newest 1000 that have any of them: ranking reads
-- each event, and a common word is in nearly all of them.
WITH words AS (
    SELECT string_agg('(' || w.word || ')', ' & ')::tsquery AS every, string_agg('(' || w.word || ')', ' | ')::tsquery AS some
    FROM (SELECT plainto_tsquery('simple', l.lexeme)::text AS word
          FROM unnest(to_tsvector('simple', %(text)s)) AS l LIMIT 100) AS w
    WHERE w.word <> ''
), candidates AS MATERIALIZED (
    (SELECT e.id FROM callboard.agent_events e
     WHERE e.search @@ (SELECT every FROM words) AND /*event_filter*/
     ORDER BY e.id DESC LIMIT 1000)
    UNION
    (SELECT e.id FROM callboard.agent_events e
     WHERE e.search @@ (SELECT some FROM words) AND /*event_filter*/
     ORDER BY e.id DESC LIMIT 1000)
)
SELECT /*event_columns*/, ts_rank(e.search, (SELECT some FROM words), 32)::double precision AS score
FROM candidates c JOIN callboard.agent_events e ON e.id = c.id
ORDER BY score DESC, e.id DESC LIMIT %(limit)s::integer
