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
    PRIMARY KEY (minute, actor, agent_name, task_type)
);

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

CREATE TABLE callboard.metrics_progress (
    only_row       boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    measured_until timestamptz NOT NULL DEFAULT date_trunc('day', now(), 'UTC'),
    final_until    timestamptz NOT NULL DEFAULT date_trunc('day', now(), 'UTC'),
    recheck_until  timestamptz,
    recheck_xid    xid8
) WITH (fillfactor = 50);
INSERT INTO callboard.metrics_progress DEFAULT VALUES;

