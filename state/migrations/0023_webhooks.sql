CREATE TABLE callboard.webhook_deliveries (
    delivery_id text COLLATE "C" PRIMARY KEY,
    task_id     text COLLATE "C" NOT NULL,
    n           integer NOT NULL
);
CREATE INDEX webhook_deliveries_task ON callboard.webhook_deliveries (task_id, n);

CREATE TABLE callboard.webhook_secrets (
    tenant     text COLLATE "C" NOT NULL,
    secret     text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    PRIMARY KEY (tenant, secret)
);
CREATE UNIQUE INDEX webhook_secrets_current ON callboard.webhook_secrets (tenant) WHERE expires_at IS NULL;
