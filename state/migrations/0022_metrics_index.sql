-- autocommit
CREATE INDEX CONCURRENTLY IF NOT EXISTS events_moves ON callboard.events USING brin (at) WITH (autosummarize = on)
    WHERE kind = 'status';
