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

COMMENT ON TABLE callboard.api_keys IS 'API keys. Rows are never deleted: while there is one, even a revoked one, nobody is served without a key.';
COMMENT ON COLUMN callboard.api_keys.tenant IS 'The key sees and changes rows of this tenant only; NULL: those of all.';
COMMENT ON COLUMN callboard.api_keys.secret_hash IS 'SHA-256 of the whole key. The key itself is not stored. Signs stream tokens, so it is a secret as well.';
COMMENT ON COLUMN callboard.api_keys.rate_limit IS 'Requests a minute, for each server process; NULL: any number.';
COMMENT ON COLUMN callboard.api_keys.last_used_at IS 'Written in batches, about half a minute late.';
