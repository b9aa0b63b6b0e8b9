-- How many events a search by vector cannot find, as they have no vector yet, or that of another model; 1000 at most.
SELECT count(*) AS events
FROM (SELECT FROM callboard.agent_events e
      WHERE (e.embedding_model IS NULL OR e.embedding_model < %(model)s OR e.embedding_model > %(model)s)
        AND /*event_filter*/
      LIMIT 1000) AS some
