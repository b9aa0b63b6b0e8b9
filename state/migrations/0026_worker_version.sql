-- What a worker says of itself.
ALTER TABLE callboard.workers ADD COLUMN version text, ADD COLUMN stopping_at timestamptz;
