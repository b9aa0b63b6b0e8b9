-- What is to be written instead of "lost" when the worker is dead: {"report": {...} or null, "settlement": {...}}.
-- In a file of its own: no transaction waits for one table's lock while it holds the other's.
ALTER TABLE callboard.leases ADD COLUMN on_loss jsonb;
