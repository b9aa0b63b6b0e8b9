-- Where the moves of a task are reported. Without defaults, so that no row is rewritten.
ALTER TABLE callboard.tasks
    ADD COLUMN webhook_url    text,
    ADD COLUMN webhook_events text[];
