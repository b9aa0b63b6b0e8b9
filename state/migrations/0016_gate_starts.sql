-- Starts are numbered, so that nothing has to count the starts in a window. Older starts have no number.
ALTER TABLE callboard.gate_starts ADD COLUMN n bigint;
CREATE INDEX gate_starts_n ON callboard.gate_starts (gate, n);
CREATE INDEX gate_starts_unnumbered ON callboard.gate_starts (gate, at) WHERE n IS NULL;
