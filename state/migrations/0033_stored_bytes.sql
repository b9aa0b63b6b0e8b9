-- autocommit
-- Bytes that belong to no content are removed: see state/media/collection.py.
CREATE TABLE IF NOT EXISTS callboard.stored_bytes (
    sha256    text COLLATE "C" PRIMARY KEY,
    stored_at timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS stored_bytes_stored_at ON callboard.stored_bytes (stored_at);
CREATE INDEX CONCURRENTLY IF NOT EXISTS contents_sha256 ON callboard.contents (sha256);
