-- How long completed tasks ran, apart from how long they waited; what happened to each tenant's tasks.
ALTER TABLE callboard.task_queue_metrics ADD COLUMN run_sum double precision;

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
