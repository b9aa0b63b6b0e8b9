-- The use of gates over time, and their changes: see state/tables/gates.sql.
CREATE TABLE callboard.gate_changes (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    gate    text COLLATE "C" NOT NULL,
    at      timestamptz NOT NULL,
    origin  text NOT NULL CHECK (origin IN ('operator', 'code', 'breaker')),
    by      text,
    changes jsonb NOT NULL
);
CREATE INDEX gate_changes_gate ON callboard.gate_changes (gate, id);

CREATE TABLE callboard.gate_samples (
    gate           text COLLATE "C" NOT NULL,
    at             timestamptz NOT NULL,
    running        integer NOT NULL,
    waiting        integer NOT NULL,
    max_concurrent integer,
    closed_by      text
);
CREATE INDEX gate_samples_gate ON callboard.gate_samples (gate, at);
CREATE INDEX gate_samples_at ON callboard.gate_samples (at);
