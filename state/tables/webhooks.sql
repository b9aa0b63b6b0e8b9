-- Which task delivers which event. Everything else about a delivery is in that task and its attempts.
CREATE TABLE callboard.webhook_deliveries (
    delivery_id text COLLATE "C" PRIMARY KEY,
    task_id     text COLLATE "C" NOT NULL,
    n           integer NOT NULL
);
CREATE INDEX webhook_deliveries_task ON callboard.webhook_deliveries (task_id, n);

COMMENT ON TABLE callboard.webhook_deliveries IS 'Deliveries of events to the webhooks of tasks. Rows are kept for ever.';
COMMENT ON COLUMN callboard.webhook_deliveries.delivery_id IS 'The task of actor webhook that delivers the event: inserted together with this row.';
COMMENT ON COLUMN callboard.webhook_deliveries.task_id IS 'The task whose event is delivered.';
COMMENT ON COLUMN callboard.webhook_deliveries.n IS 'The number of the event. A replay of an event that was delivered is a further row.';

CREATE TABLE callboard.webhook_secrets (
    tenant     text COLLATE "C" NOT NULL,
    secret     text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    PRIMARY KEY (tenant, secret)
);
CREATE UNIQUE INDEX webhook_secrets_current ON callboard.webhook_secrets (tenant) WHERE expires_at IS NULL;

COMMENT ON TABLE callboard.webhook_secrets IS 'The keys that webhooks are signed with, as plain text: who may read this table can sign.';
COMMENT ON COLUMN callboard.webhook_secrets.tenant IS 'The tenant of the tasks; empty for tasks without one.';
COMMENT ON COLUMN callboard.webhook_secrets.secret IS 'whsec_ and base64, as Standard Webhooks has it.';
COMMENT ON COLUMN callboard.webhook_secrets.expires_at IS 'NULL: the current secret. Until then a secret that was replaced signs beside it.';
