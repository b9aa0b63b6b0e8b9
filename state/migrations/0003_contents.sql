-- One row for each request to a media provider, whatever became of it.
CREATE TABLE callboard.generations (
    id           text PRIMARY KEY,
    task_id      text COLLATE "C" NOT NULL UNIQUE,
    provider     text NOT NULL,
    action_type  text NOT NULL,
    status       text NOT NULL CHECK (status IN ('running', 'completed', 'failed')),
    request      jsonb NOT NULL,
    raw_response jsonb,
    error        jsonb,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL
);

-- The bytes lie in the content store under their hash; the same bytes twice are stored once.
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
