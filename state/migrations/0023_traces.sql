ALTER TABLE callboard.tasks ADD COLUMN traceparent text;
