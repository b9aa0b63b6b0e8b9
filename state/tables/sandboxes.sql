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

COMMENT ON TABLE callboard.sandboxes IS 'Commands that tasks have run in sandboxes. A row is written before the command starts.';
COMMENT ON COLUMN callboard.sandboxes.boot_id IS 'With host and pid_namespace, as in workers: who can ask the kernel for the processes, and kill them.';
COMMENT ON COLUMN callboard.sandboxes.pid IS 'The supervisor of the command, which kills all its processes at its end; with start_ticks.';
COMMENT ON COLUMN callboard.sandboxes.ended_at IS 'When all its processes were gone; NULL while some live, or nobody knows.';
COMMENT ON COLUMN callboard.sandboxes.killed IS 'How many processes were killed at its end.';
COMMENT ON COLUMN callboard.sandboxes.survivors IS 'Processes that could not be killed, with their start times in survivor_ticks (0: not known).';
