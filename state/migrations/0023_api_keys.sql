-- API keys: who may call the HTTP API.
CREATE TABLE callboard.api_keys (
    id           text COLLATE "C" PRIMARY KEY,
    name         text NOT NULL,
    role         text NOT NULL CHECK (role IN ('reader', 'submitter', 'operator')),
    tenant       text,
    secret_hash  bytea NOT NULL,
    rate_limit   integer CHECK (rate_limit > 0),
    created_at   timestamptz NOT NULL,
    created_by   text,
    last_used_at timestamptz,
    revoked_at   timestamptz,
    revoked_by   text
);
