-- Who may do what. A role has exactly the rights that are listed here, on the tables that are listed here: a new table
-- gets a line. The owner, who migrates, may do everything. Functions run with the rights of their caller, except the
-- two of the last list and the one that makes partitions. Applied again whenever anything of the schema has changed.
DO $grants$
DECLARE
    r record;
    missing text[];
BEGIN
    FOR r IN SELECT n AS name FROM unnest(ARRAY['callboard_api', 'callboard_worker', 'callboard_reader']) AS n
             WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = n) ORDER BY n LOOP
        BEGIN
            EXECUTE format('CREATE ROLE %I NOLOGIN', r.name);
        EXCEPTION
            WHEN duplicate_object OR unique_violation THEN NULL;  -- made for another database meanwhile
            WHEN insufficient_privilege THEN missing := missing || r.name;
        END;
    END LOOP;
    IF missing IS NOT NULL THEN
        RAISE EXCEPTION 'there are no roles %, and % may not create them', array_to_string(missing, ', '), current_user
            USING ERRCODE = 'undefined_object',
                  HINT = format('As an administrator: CREATE ROLE %s; then run `callboard migrate` again.',
                                array_to_string(missing, '; CREATE ROLE '));
    END IF;

    REVOKE ALL ON SCHEMA callboard, admin, dramatiq FROM PUBLIC, callboard_api, callboard_worker, callboard_reader;
    REVOKE ALL ON ALL TABLES IN SCHEMA callboard, admin, dramatiq
        FROM PUBLIC, callboard_api, callboard_worker, callboard_reader;
    REVOKE ALL ON ALL ROUTINES IN SCHEMA callboard, admin, dramatiq
        FROM PUBLIC, callboard_api, callboard_worker, callboard_reader;

    GRANT USAGE ON SCHEMA callboard TO callboard_api, callboard_worker;
    GRANT USAGE ON SCHEMA dramatiq TO callboard_worker;
    GRANT USAGE ON SCHEMA admin TO callboard_reader;
    GRANT EXECUTE ON ALL ROUTINES IN SCHEMA callboard TO callboard_api, callboard_worker;

    -- It makes tables with the rights of their owner: only the maintainer, a worker, asks for it.
    IF to_regprocedure('callboard.make_partition()') IS NOT NULL THEN
        REVOKE ALL ON ROUTINE callboard.make_partition() FROM callboard_api;
    END IF;

    FOR r IN
        SELECT * FROM (VALUES
            -- History is only added to: nobody deletes tasks, and nobody changes events or attempts.
            ('callboard.tasks', 'SELECT, INSERT, UPDATE', 'SELECT, INSERT, UPDATE'),
            ('callboard.events', 'SELECT, INSERT', 'SELECT, INSERT'),
            ('callboard.attempts', 'SELECT, INSERT', 'SELECT, INSERT'),
            ('callboard.finished_counts', 'SELECT, INSERT', 'SELECT, INSERT, DELETE'),
            ('callboard.dedup', 'SELECT, INSERT, UPDATE', 'SELECT, INSERT, UPDATE, DELETE'),
            ('callboard.idempotency', 'SELECT, INSERT, UPDATE', 'SELECT, DELETE'),
            -- The API asks a worker to stop, and takes the leases of dead workers away. Only workers claim.
            ('callboard.leases', 'SELECT, UPDATE (cancel_requested), DELETE', 'SELECT, INSERT, UPDATE, DELETE'),
            ('callboard.workers', 'SELECT, UPDATE (stopped_at)', 'SELECT, INSERT, UPDATE'),
            ('callboard.timelines', '', 'SELECT, INSERT, UPDATE'),
            ('callboard.maintainer', 'SELECT, UPDATE', 'SELECT, UPDATE'),
            ('callboard.actor_pace', 'SELECT', 'SELECT, INSERT, UPDATE'),
            ('callboard.gates', 'SELECT, INSERT, UPDATE', 'SELECT, INSERT, UPDATE'),
            ('callboard.slots', 'SELECT, DELETE', 'SELECT, INSERT, UPDATE, DELETE'),
            ('callboard.reservations', 'SELECT, DELETE', 'SELECT, INSERT, UPDATE, DELETE'),
            ('callboard.gate_starts', 'SELECT', 'SELECT, INSERT, DELETE'),
            ('callboard.gate_results', 'SELECT', 'SELECT, INSERT, DELETE'),
            ('callboard.gate_changes', 'SELECT, INSERT', 'SELECT, INSERT'),
            ('callboard.gate_samples', 'SELECT', 'SELECT, INSERT, DELETE'),
            ('callboard.generations', 'SELECT', 'SELECT, INSERT, UPDATE'),
            ('callboard.contents', 'SELECT', 'SELECT, INSERT, UPDATE'),
            ('callboard.stored_bytes', '', 'SELECT, INSERT, UPDATE, DELETE'),
            ('callboard.prompts', 'SELECT, INSERT, UPDATE', 'SELECT'),
            ('callboard.agent_events', 'SELECT, UPDATE (hidden_at)', 'SELECT, INSERT, UPDATE'),
            ('callboard.sandboxes', 'SELECT', 'SELECT, INSERT, UPDATE'),
            ('callboard.workflows', 'SELECT, INSERT, UPDATE', 'SELECT, INSERT, UPDATE'),
            ('callboard.workflow_steps', 'SELECT, INSERT, UPDATE', 'SELECT, INSERT, UPDATE'),
            ('callboard.projects', 'SELECT, INSERT, UPDATE', 'SELECT, UPDATE'),
            ('callboard.project_items', 'SELECT, INSERT, UPDATE', 'SELECT, UPDATE'),
            ('callboard.runs', 'SELECT, INSERT, UPDATE', 'SELECT, INSERT, UPDATE'),
            ('callboard.schedules', 'SELECT, INSERT, UPDATE', 'SELECT, INSERT, UPDATE'),
            ('callboard.schedule_runs', 'SELECT, INSERT', 'SELECT, INSERT'),
            ('callboard.webhook_deliveries', 'SELECT, INSERT', 'SELECT, INSERT'),
            ('callboard.webhook_secrets', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT, INSERT'),
            ('callboard.task_queue_metrics', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE'),
            ('callboard.tenant_metrics', 'SELECT', 'SELECT, INSERT, UPDATE, DELETE'),
            ('callboard.task_queue_metrics_daily', 'SELECT', 'SELECT, INSERT, DELETE'),
            ('callboard.metrics_progress', 'SELECT', 'SELECT, UPDATE'),
            -- A key's role, tenant and secret never change. Workers ask for no keys.
            ('callboard.api_keys', 'SELECT, INSERT, UPDATE (id, last_used_at, revoked_at, revoked_by)', ''),
            ('callboard.schema_version', 'SELECT', 'SELECT'),
            ('callboard.applied_files', '', ''),
            -- Messages of plain Dramatiq actors: only workers send and take them.
            ('dramatiq.queue', '', 'SELECT, INSERT, UPDATE, DELETE')
        ) AS listed (name, api, worker)
        WHERE to_regclass(listed.name) IS NOT NULL
    LOOP
        IF r.api <> '' THEN
            EXECUTE format('GRANT %s ON %s TO callboard_api', r.api, r.name);
        END IF;
        IF r.worker <> '' THEN
            EXECUTE format('GRANT %s ON %s TO callboard_worker', r.worker, r.name);
        END IF;
    END LOOP;

    -- Views read with the rights of their owner. A function in a view runs with those of the reader: these two read for
    -- their owner (SECURITY DEFINER), and cannot write.
    GRANT SELECT ON ALL TABLES IN SCHEMA admin TO callboard_reader;
    FOR r IN
        SELECT p.oid::regprocedure AS name FROM pg_proc p
        WHERE p.pronamespace = 'callboard'::regnamespace AND p.proname IN ('now', 'why_waiting', 'workflow_lives')
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO callboard_reader', r.name);
    END LOOP;
    -- For a view that is made again, until this file is applied.
    ALTER DEFAULT PRIVILEGES IN SCHEMA admin GRANT SELECT ON TABLES TO callboard_reader;
END $grants$;
