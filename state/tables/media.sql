CREATE TABLE callboard.prompts (
    tenant     text NOT NULL,
    id         text NOT NULL,
    text       text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);

COMMENT ON TABLE callboard.prompts IS 'Texts that people keep and tasks name by id.';
COMMENT ON COLUMN callboard.prompts.tenant IS 'Empty for prompts without a tenant.';

CREATE TABLE callboard.generations (
    id           text PRIMARY KEY,
    task_id      text COLLATE "C" NOT NULL UNIQUE,
    provider     text NOT NULL,
    action_type  text NOT NULL,
    status       text NOT NULL CHECK (status IN ('running', 'completed', 'failed')),
    prompt       text,
    request      jsonb NOT NULL,
    raw_response jsonb,
    error        jsonb,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL
);

COMMENT ON TABLE callboard.generations IS 'One request to a media provider, whatever became of it.';
COMMENT ON COLUMN callboard.generations.prompt IS 'The text that was sent: a stored prompt may change later.';

CREATE TABLE callboard.contents (
    id            text PRIMARY KEY,
    generation_id text NOT NULL REFERENCES callboard.generations (id),
    position      integer NOT NULL,
    sha256        text NOT NULL,
    size          bigint NOT NULL,
    media_type    text NOT NULL,
    created_at    timestamptz NOT NULL,
    UNIQUE (generation_id, position)
);
CREATE INDEX contents_sha256 ON callboard.contents (sha256);

CREATE TABLE callboard.stored_bytes (
    sha256    text COLLATE "C" PRIMARY KEY,
    stored_at timestamptz NOT NULL
);
CREATE INDEX stored_bytes_stored_at ON callboard.stored_bytes (stored_at);

COMMENT ON TABLE callboard.contents IS 'What a generation made. The bytes are in the content store.';
COMMENT ON COLUMN callboard.contents.sha256 IS 'The name of the bytes in the content store: equal bytes are stored once.';

COMMENT ON TABLE callboard.stored_bytes IS 'Bytes that were given to the content store a while ago, and may belong to no content: see state/media/collection.py.';
COMMENT ON COLUMN callboard.stored_bytes.stored_at IS 'When somebody was about to store them, for the last time.';
