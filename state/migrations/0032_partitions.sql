-- autocommit
-- events and attempts become the first partitions of partitioned tables: see state/tables/events.sql. No row of a task is
-- copied, and nothing is locked for longer than a moment. Interrupted after any statement, everything works, and the next
-- run goes on.

-- First, rows that will not fit into the first partition are kept apart: those of workflows and projects, and those of
-- tasks that say to be made in two months or later (whose id was made by a clock that is wrong, or this was interrupted
-- for that long). Until the end they are in tables that inherit from the old one, so every read finds them.
CREATE OR REPLACE FUNCTION callboard.keep_apart() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    EXECUTE format('INSERT INTO callboard.%I SELECT ($1).*', TG_TABLE_NAME || CASE
        WHEN TG_TABLE_NAME = 'events' AND NEW.task_id < 'tq_' COLLATE "C" THEN '_of_projects'
        WHEN TG_TABLE_NAME = 'events' AND NEW.task_id >= 'tq`' COLLATE "C" THEN '_of_workflows'
        ELSE '_later' END) USING NEW;
    RETURN NULL;
END $$;
DO $$
DECLARE
    bound text := 'tq_' || lpad(to_hex(extract(epoch FROM date_trunc('month', now() AT TIME ZONE 'UTC')
                                                           + interval '2 months')::bigint * 1000), 12, '0');
BEGIN
    IF to_regclass('callboard.events_later') IS NULL THEN
        LOCK TABLE callboard.events IN ACCESS EXCLUSIVE MODE;
        CREATE TABLE callboard.events_of_projects (LIKE callboard.events INCLUDING ALL EXCLUDING COMMENTS);
        CREATE TABLE callboard.events_of_workflows (LIKE callboard.events INCLUDING ALL EXCLUDING COMMENTS);
        CREATE TABLE callboard.events_later (LIKE callboard.events INCLUDING ALL EXCLUDING COMMENTS);
        ALTER TABLE callboard.events_of_projects ADD CONSTRAINT bound CHECK (task_id < 'tq_');
        ALTER TABLE callboard.events_of_workflows ADD CONSTRAINT bound CHECK (task_id >= 'tq`');
        ALTER TABLE callboard.events_of_projects INHERIT callboard.events;
        ALTER TABLE callboard.events_of_workflows INHERIT callboard.events;
        ALTER TABLE callboard.events_later INHERIT callboard.events;
        EXECUTE format('CREATE TRIGGER keep_apart BEFORE INSERT ON callboard.events FOR EACH ROW '
                       'WHEN (NEW.task_id < ''tq_'' OR NEW.task_id >= %L) EXECUTE FUNCTION callboard.keep_apart()', bound);
        EXECUTE format('ALTER TABLE callboard.events ADD CONSTRAINT events_bound '
                       'CHECK (task_id >= ''tq_'' AND task_id < %L) NO INHERIT NOT VALID', bound);
    END IF;
END $$;
DO $$
DECLARE
    bound text := 'tq_' || lpad(to_hex(extract(epoch FROM date_trunc('month', now() AT TIME ZONE 'UTC')
                                                           + interval '2 months')::bigint * 1000), 12, '0');
BEGIN
    IF to_regclass('callboard.attempts_later') IS NULL THEN
        LOCK TABLE callboard.attempts IN ACCESS EXCLUSIVE MODE;
        CREATE TABLE callboard.attempts_later (LIKE callboard.attempts INCLUDING ALL EXCLUDING COMMENTS);
        ALTER TABLE callboard.attempts_later INHERIT callboard.attempts;
        EXECUTE format('CREATE TRIGGER keep_apart BEFORE INSERT ON callboard.attempts FOR EACH ROW '
                       'WHEN (NEW.task_id < ''tq_'' OR NEW.task_id >= %L) EXECUTE FUNCTION callboard.keep_apart()', bound);
        EXECUTE format('ALTER TABLE callboard.attempts ADD CONSTRAINT attempts_bound '
                       'CHECK (task_id >= ''tq_'' AND task_id < %L) NO INHERIT NOT VALID', bound);
    END IF;
END $$;

-- Then the rows that were there before move, in short transactions. A reader finds each of them in one place.
DO $$
DECLARE
    bound text;
    after record;
BEGIN
    IF (SELECT relkind FROM pg_class WHERE oid = 'callboard.events'::regclass) = 'p' THEN
        RETURN;
    END IF;
    SELECT substring(pg_get_constraintdef(oid) FROM 'tq_[0-9a-f]{12}') INTO bound
    FROM pg_constraint WHERE conrelid = 'callboard.events'::regclass AND conname = 'events_bound';
    SELECT '' AS task_id, 0 AS n INTO after;
    LOOP
        WITH chosen AS MATERIALIZED (
            SELECT e.task_id, e.n FROM ONLY callboard.events e
            WHERE e.task_id < 'tq_' AND (e.task_id, e.n) > (after.task_id, after.n) ORDER BY e.task_id, e.n LIMIT 5000
        ), gone AS (
            DELETE FROM ONLY callboard.events e USING chosen c WHERE e.task_id = c.task_id AND e.n = c.n RETURNING e.*
        ), moved AS (
            INSERT INTO callboard.events_of_projects SELECT * FROM gone RETURNING task_id, n
        )
        SELECT m.task_id, m.n INTO after FROM moved m ORDER BY m.task_id DESC, m.n DESC LIMIT 1;
        EXIT WHEN NOT FOUND;
        COMMIT;
    END LOOP;
    SELECT 'tq`' AS task_id, 0 AS n INTO after;
    LOOP
        WITH chosen AS MATERIALIZED (
            SELECT e.task_id, e.n FROM ONLY callboard.events e
            WHERE (e.task_id, e.n) > (after.task_id, after.n) ORDER BY e.task_id, e.n LIMIT 5000
        ), gone AS (
            DELETE FROM ONLY callboard.events e USING chosen c WHERE e.task_id = c.task_id AND e.n = c.n RETURNING e.*
        ), moved AS (
            INSERT INTO callboard.events_of_workflows SELECT * FROM gone RETURNING task_id, n
        )
        SELECT m.task_id, m.n INTO after FROM moved m ORDER BY m.task_id DESC, m.n DESC LIMIT 1;
        EXIT WHEN NOT FOUND;
        COMMIT;
    END LOOP;
    WITH gone AS (
        DELETE FROM ONLY callboard.events e WHERE e.task_id >= bound AND e.task_id < 'tq`' RETURNING e.*
    )
    INSERT INTO callboard.events_later SELECT * FROM gone;
END $$;
DO $$
DECLARE
    bound text;
BEGIN
    IF (SELECT relkind FROM pg_class WHERE oid = 'callboard.attempts'::regclass) = 'p' THEN
        RETURN;
    END IF;
    SELECT substring(pg_get_constraintdef(oid) FROM 'tq_[0-9a-f]{12}') INTO bound
    FROM pg_constraint WHERE conrelid = 'callboard.attempts'::regclass AND conname = 'attempts_bound';
    WITH gone AS (
        DELETE FROM ONLY callboard.attempts a WHERE a.task_id < 'tq_' OR a.task_id >= bound RETURNING a.*
    )
    INSERT INTO callboard.attempts_later SELECT * FROM gone;
END $$;

-- Proves, while rows are added, that everything else fits.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_constraint WHERE conname = 'events_bound' AND NOT convalidated
               AND conrelid = to_regclass('callboard.events')) THEN
        ALTER TABLE callboard.events VALIDATE CONSTRAINT events_bound;
    END IF;
END $$;
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_constraint WHERE conname = 'attempts_bound' AND NOT convalidated
               AND conrelid = to_regclass('callboard.attempts')) THEN
        ALTER TABLE callboard.attempts VALIDATE CONSTRAINT attempts_bound;
    END IF;
END $$;

-- The tables change places. Nothing is read: the constraints say what is where.
DO $$
DECLARE
    bound text;
    r record;
BEGIN
    IF (SELECT relkind FROM pg_class WHERE oid = 'callboard.events'::regclass) = 'p' THEN
        RETURN;
    END IF;
    LOCK TABLE callboard.events IN ACCESS EXCLUSIVE MODE;
    SELECT substring(pg_get_constraintdef(oid) FROM 'tq_[0-9a-f]{12}') INTO STRICT bound
    FROM pg_constraint WHERE conrelid = 'callboard.events'::regclass AND conname = 'events_bound';
    ALTER TABLE callboard.events_of_projects NO INHERIT callboard.events;
    ALTER TABLE callboard.events_of_workflows NO INHERIT callboard.events;
    ALTER TABLE callboard.events_later NO INHERIT callboard.events;
    DROP TRIGGER keep_apart ON callboard.events;
    ALTER TABLE callboard.events RENAME TO events_before;
    ALTER INDEX callboard.events_pkey RENAME TO events_before_pkey;
    ALTER INDEX callboard.events_moves RENAME TO events_before_at_idx;
    COMMENT ON COLUMN callboard.events_before.n IS NULL;
    COMMENT ON COLUMN callboard.events_before.kind IS NULL;
    CREATE TABLE callboard.events (LIKE callboard.events_before, PRIMARY KEY (task_id, n)) PARTITION BY RANGE (task_id);
    CREATE INDEX events_moves ON callboard.events USING brin (at) WITH (autosummarize = on) WHERE kind = 'status';
    EXECUTE format('ALTER TABLE callboard.events ATTACH PARTITION callboard.events_before FOR VALUES FROM (''tq_'') TO (%L)',
                   bound);
    ALTER TABLE callboard.events ATTACH PARTITION callboard.events_of_projects FOR VALUES FROM (MINVALUE) TO ('tq_');
    ALTER TABLE callboard.events ATTACH PARTITION callboard.events_of_workflows FOR VALUES FROM ('tq`') TO (MAXVALUE);
    ALTER TABLE callboard.events_before DROP CONSTRAINT events_bound;
    ALTER TABLE callboard.events_of_projects DROP CONSTRAINT bound;
    ALTER TABLE callboard.events_of_workflows DROP CONSTRAINT bound;
    ALTER TABLE callboard.events ATTACH PARTITION callboard.events_later DEFAULT;
    FOR r IN SELECT x.privilege_type, x.grantee::regrole AS role
             FROM pg_class c, aclexplode(c.relacl) AS x WHERE c.oid = 'callboard.events_before'::regclass AND x.grantee <> 0
    LOOP  -- processes run on
        EXECUTE format('GRANT %s ON callboard.events TO %s', r.privilege_type, r.role);
    END LOOP;
END $$;
DO $$
DECLARE
    bound text;
    r record;
BEGIN
    IF (SELECT relkind FROM pg_class WHERE oid = 'callboard.attempts'::regclass) = 'p' THEN
        RETURN;
    END IF;
    LOCK TABLE callboard.attempts IN ACCESS EXCLUSIVE MODE;
    SELECT substring(pg_get_constraintdef(oid) FROM 'tq_[0-9a-f]{12}') INTO STRICT bound
    FROM pg_constraint WHERE conrelid = 'callboard.attempts'::regclass AND conname = 'attempts_bound';
    ALTER TABLE callboard.attempts_later NO INHERIT callboard.attempts;
    DROP TRIGGER keep_apart ON callboard.attempts;
    ALTER TABLE callboard.attempts RENAME TO attempts_before;
    ALTER INDEX callboard.attempts_pkey RENAME TO attempts_before_pkey;
    COMMENT ON COLUMN callboard.attempts_before.attempt IS NULL;
    COMMENT ON COLUMN callboard.attempts_before.outcome IS NULL;
    CREATE TABLE callboard.attempts (LIKE callboard.attempts_before, PRIMARY KEY (task_id, epoch)) PARTITION BY RANGE (task_id);
    EXECUTE format('ALTER TABLE callboard.attempts ATTACH PARTITION callboard.attempts_before FOR VALUES FROM (''tq_'') TO (%L)',
                   bound);
    ALTER TABLE callboard.attempts_before DROP CONSTRAINT attempts_bound;
    ALTER TABLE callboard.attempts ATTACH PARTITION callboard.attempts_later DEFAULT;
    FOR r IN SELECT x.privilege_type, x.grantee::regrole AS role
             FROM pg_class c, aclexplode(c.relacl) AS x WHERE c.oid = 'callboard.attempts_before'::regclass AND x.grantee <> 0
    LOOP
        EXECUTE format('GRANT %s ON callboard.attempts TO %s', r.privilege_type, r.role);
    END LOOP;
END $$;
DROP FUNCTION IF EXISTS callboard.keep_apart();
