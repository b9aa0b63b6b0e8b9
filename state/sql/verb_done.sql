-- Finds those of the tasks for which a verb was done whose result was lost, and returns what the verb's own statement
-- would have returned. `evidence` are parts of the data of the events that the verb writes; without evidence, the task must
-- be hidden. `within`: seconds since the call.
SELECT t.id, t.epoch, t.actor, t.queue, t.gates, t.dedup_key, e.data ->> 'from' AS before,
       coalesce(e.data ->> 'to', 'running') AS status, NULL AS holder
FROM callboard.tasks t LEFT JOIN LATERAL (
    SELECT e.data FROM callboard.events e
    WHERE e.task_id = t.id AND e.kind IN ('status', 'control') AND e.data @> ANY (%(evidence)s::jsonb[])
      AND e.at >= callboard.now() - make_interval(secs => %(within)s)
    ORDER BY e.n DESC LIMIT 1
) AS e ON true
WHERE t.id = ANY (%(ids)s) AND (/*in_scope*/ t.tenant)
  AND CASE WHEN %(evidence)s::jsonb[] = '{}' THEN t.hidden_at >= callboard.now() - make_interval(secs => %(within)s)
           ELSE e.data IS NOT NULL END
