-- Starts are numbered, so that nobody has to count those in the window. Without a number: older than this migration.
ALTER TABLE callboard.gate_starts ADD COLUMN n bigint;
CREATE INDEX gate_starts_n ON callboard.gate_starts (gate, n);
CREATE INDEX gate_starts_unnumbered ON callboard.gate_starts (gate, at) WHERE n IS NULL;
