-- What to write instead of "lost" if the worker dies: {"report": {...} or null, "settlement": {...}}.
-- In a file of its own: no transaction waits for one table's lock while it holds another's.
ALTER TABLE callboard.leases ADD COLUMN on_loss jsonb;
