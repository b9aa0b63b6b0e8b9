-- Texts that people keep and tasks name by id. Without a tenant: ''.
CREATE TABLE callboard.prompts (
    tenant     text NOT NULL,
    id         text NOT NULL,
    text       text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);

-- The text that was sent: a stored prompt may be another one tomorrow.
ALTER TABLE callboard.generations ADD COLUMN prompt text;
