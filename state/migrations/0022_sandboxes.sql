-- Commands that tasks have run in sandboxes, so that every process can find them.
CREATE TABLE callboard.sandboxes (
    id             text COLLATE "C" PRIMARY KEY,
    task_id        text COLLATE "C" NOT NULL,
    epoch          integer NOT NULL,
    worker_id      text COLLATE "C" NOT NULL,
    host           text NOT NULL,
    boot_id        text NOT NULL,
    pid_namespace  text NOT NULL,
    pid            integer NOT NULL,
    start_ticks    bigint,
    kind           text NOT NULL CHECK (kind IN ('process', 'bubblewrap', 'docker', 'podman')),
    workspace      text NOT NULL,
    container      text,
    control_groups text[] NOT NULL DEFAULT '{}',
    started_at     timestamptz NOT NULL,
    ended_at       timestamptz,
    killed         integer NOT NULL DEFAULT 0,
    survivors      integer[] NOT NULL DEFAULT '{}',
    survivor_ticks bigint[] NOT NULL DEFAULT '{}'
);
CREATE INDEX sandboxes_task ON callboard.sandboxes (task_id);
CREATE INDEX sandboxes_unended ON callboard.sandboxes (host) WHERE ended_at IS NULL;
