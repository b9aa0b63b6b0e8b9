ALTER TABLE callboard.tasks
    ADD COLUMN max_age         double precision,           -- seconds, as it was asked for: a revived task gets it afresh
    ADD COLUMN attempts_before integer NOT NULL DEFAULT 0; -- used up when it was revived; max_attempts counts on

UPDATE callboard.tasks SET max_age = extract(epoch FROM expires_at - created_at) WHERE expires_at IS NOT NULL;
