CREATE TABLE callboard.idempotency (
    tenant     text NOT NULL,
    route      text NOT NULL,
    key        text NOT NULL,
    body_hash  text NOT NULL,
    answer     jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, route, key)
);
CREATE INDEX idempotency_age ON callboard.idempotency (created_at);

COMMENT ON TABLE callboard.idempotency IS 'Responses to requests with an Idempotency-Key, kept for 24 hours.';
COMMENT ON COLUMN callboard.idempotency.tenant IS 'Empty for requests without a tenant.';
COMMENT ON COLUMN callboard.idempotency.body_hash IS 'The same key with another body is refused.';

CREATE TABLE callboard.dedup (
    tenant  text NOT NULL,
    actor   text NOT NULL,
    key     text NOT NULL,
    task_id text COLLATE "C" NOT NULL,
    until   timestamptz NOT NULL,
    ttl     double precision,
    PRIMARY KEY (tenant, actor, key)
);
CREATE INDEX dedup_until ON callboard.dedup (until);

COMMENT ON TABLE callboard.dedup IS 'Dedup keys and the tasks that hold them. A key is free when its task is finished or its time is over.';
COMMENT ON COLUMN callboard.dedup.tenant IS 'Empty for tasks without a tenant.';
COMMENT ON COLUMN callboard.dedup.ttl IS 'Seconds from taking the key to `until`: a revived task takes it for as long again. NULL: a day.';
