-- Sums and no averages: sums of minutes add up to those of hours and days exactly.
CREATE TABLE callboard.task_queue_metrics (
    minute                 timestamptz NOT NULL,
    actor                  text COLLATE "C" NOT NULL,
    agent_name             text COLLATE "C" NOT NULL,
    task_type              text COLLATE "C" NOT NULL,
    tasks_created          bigint NOT NULL DEFAULT 0,
    tasks_completed        bigint NOT NULL DEFAULT 0,
    tasks_failed           bigint NOT NULL DEFAULT 0,
    attempts               bigint NOT NULL DEFAULT 0,
    attempts_failed        bigint NOT NULL DEFAULT 0,
    latency_sum            double precision NOT NULL DEFAULT 0,
    latency_max            double precision,
    heartbeats             bigint NOT NULL DEFAULT 0,
    heartbeat_delay_sum    double precision NOT NULL DEFAULT 0,
    worker_heartbeat_delay double precision,
    moves                  bigint NOT NULL DEFAULT 0,
    average_latency        double precision GENERATED ALWAYS AS (latency_sum / nullif(tasks_completed, 0)) STORED,
    error_rate             double precision
                           GENERATED ALWAYS AS (attempts_failed::double precision / nullif(attempts, 0)) STORED,
    run_sum                double precision,
    PRIMARY KEY (minute, actor, agent_name, task_type)
);

COMMENT ON TABLE callboard.task_queue_metrics IS 'What happened in each minute, by actor and agent; kept for 30 days. Computed from events by measure_tasks.';
COMMENT ON COLUMN callboard.task_queue_metrics.minute IS 'The beginning of the minute.';
COMMENT ON COLUMN callboard.task_queue_metrics.actor IS 'Empty in the row of the whole cluster, which says how punctual its workers were.';
COMMENT ON COLUMN callboard.task_queue_metrics.agent_name IS 'Empty for actors other than agent; task_type likewise.';
COMMENT ON COLUMN callboard.task_queue_metrics.tasks_failed IS 'Tasks that have died, whether they had started or not.';
COMMENT ON COLUMN callboard.task_queue_metrics.attempts IS 'Executions that have completed, failed or lost their worker; not those that were stopped.';
COMMENT ON COLUMN callboard.task_queue_metrics.attempts_failed IS 'Executions that have failed or lost their worker.';
COMMENT ON COLUMN callboard.task_queue_metrics.latency_sum IS 'Seconds from entering the queue to the end, of the tasks that were completed.';
COMMENT ON COLUMN callboard.task_queue_metrics.run_sum IS 'Of these seconds, those of the execution that has completed the task; NULL for minutes that an earlier release has measured.';
COMMENT ON COLUMN callboard.task_queue_metrics.heartbeats IS 'Samples of the age of a worker''s last pulse; heartbeat_delay_sum is the sum of these ages in seconds.';
COMMENT ON COLUMN callboard.task_queue_metrics.worker_heartbeat_delay IS 'The greatest of these ages.';
COMMENT ON COLUMN callboard.task_queue_metrics.moves IS 'In the row without an actor: how many moves of tasks the minute was counted from.';

CREATE TABLE callboard.tenant_metrics (
    tenant          text COLLATE "C" NOT NULL,
    minute          timestamptz NOT NULL,
    tasks_created   bigint NOT NULL,
    tasks_completed bigint NOT NULL,
    tasks_failed    bigint NOT NULL,
    attempts        bigint NOT NULL,
    attempts_failed bigint NOT NULL,
    latency_sum     double precision NOT NULL,
    run_sum         double precision NOT NULL,
    PRIMARY KEY (tenant, minute)
);
CREATE INDEX tenant_metrics_minute ON callboard.tenant_metrics (minute);

COMMENT ON TABLE callboard.tenant_metrics IS 'What happened to the tasks of each tenant in each minute; kept for a day. Columns as in task_queue_metrics.';

CREATE TABLE callboard.task_queue_metrics_daily (
    day                    date NOT NULL,
    actor                  text COLLATE "C" NOT NULL,
    agent_name             text COLLATE "C" NOT NULL,
    task_type              text COLLATE "C" NOT NULL,
    tasks_created          bigint NOT NULL,
    tasks_completed        bigint NOT NULL,
    tasks_failed           bigint NOT NULL,
    attempts               bigint NOT NULL,
    attempts_failed        bigint NOT NULL,
    latency_sum            double precision NOT NULL,
    latency_max            double precision,
    heartbeats             bigint NOT NULL,
    heartbeat_delay_sum    double precision NOT NULL,
    worker_heartbeat_delay double precision,
    average_latency        double precision GENERATED ALWAYS AS (latency_sum / nullif(tasks_completed, 0)) STORED,
    error_rate             double precision
                           GENERATED ALWAYS AS (attempts_failed::double precision / nullif(attempts, 0)) STORED,
    PRIMARY KEY (day, actor, agent_name, task_type)
);

COMMENT ON TABLE callboard.task_queue_metrics_daily IS 'task_queue_metrics by day, in UTC, of all days that are over; kept for ever.';

CREATE TABLE callboard.metrics_progress (
    only_row       boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    measured_until timestamptz NOT NULL DEFAULT date_trunc('day', now(), 'UTC'),
    final_until    timestamptz NOT NULL DEFAULT date_trunc('day', now(), 'UTC'),
    recheck_until  timestamptz,
    recheck_xid    xid8
) WITH (fillfactor = 50);
INSERT INTO callboard.metrics_progress DEFAULT VALUES;

COMMENT ON TABLE callboard.metrics_progress IS 'How far task_queue_metrics has come. Always exactly one row; whoever measures locks it.';
COMMENT ON COLUMN callboard.metrics_progress.measured_until IS 'All time before this moment is measured. The day of the installation is measured from its beginning.';
COMMENT ON COLUMN callboard.metrics_progress.final_until IS 'All minutes before this one are measured again, after all transactions that could have written into them have ended.';
COMMENT ON COLUMN callboard.metrics_progress.recheck_until IS 'The minutes before this one are measured again when all transactions older than recheck_xid have ended.';
