-- The roles of the embedded Postgres. Run by its superuser in single-user mode, while no server runs: nobody can connect
-- as that superuser. Can be run again. An empty line ends a statement there, so none may be inside of one.
DO $$
DECLARE
    its_name text;
BEGIN
    FOREACH its_name IN ARRAY ARRAY['callboard_owner', 'callboard_api', 'callboard_worker', 'callboard_reader'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = its_name) THEN
            EXECUTE format('CREATE ROLE %I', its_name);
        END IF;
    END LOOP;
END $$;

-- The owner may make databases: for tests, and for copies before an upgrade.
ALTER ROLE callboard_owner LOGIN CREATEDB PASSWORD {callboard_owner};

ALTER ROLE callboard_api LOGIN PASSWORD {callboard_api};

ALTER ROLE callboard_worker LOGIN PASSWORD {callboard_worker};

ALTER ROLE callboard_reader LOGIN PASSWORD {callboard_reader};

ALTER ROLE postgres PASSWORD NULL;

ALTER DATABASE postgres OWNER TO callboard_owner;

REVOKE ALL ON DATABASE postgres, template1 FROM PUBLIC;

GRANT CONNECT ON DATABASE postgres TO callboard_api, callboard_worker, callboard_reader;

-- Up to schema 22 everything belonged to the superuser.
DO $$
DECLARE
    command text;
BEGIN
    FOR command IN
        SELECT format('ALTER SCHEMA %I OWNER TO callboard_owner', n.nspname) FROM pg_namespace n
        WHERE n.nspname IN ('callboard', 'admin', 'dramatiq')
        UNION ALL
        SELECT format('ALTER TABLE %s OWNER TO callboard_owner', c.oid::regclass)
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname IN ('callboard', 'admin', 'dramatiq') AND c.relkind IN ('r', 'p', 'v', 'm')
        UNION ALL
        SELECT format('ALTER ROUTINE %s OWNER TO callboard_owner', p.oid::regprocedure)
        FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
        WHERE n.nspname IN ('callboard', 'admin', 'dramatiq')
        UNION ALL
        SELECT format('ALTER TYPE %s OWNER TO callboard_owner', t.oid::regtype)
        FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
        WHERE n.nspname IN ('callboard', 'admin', 'dramatiq') AND t.typtype IN ('d', 'e')
    LOOP
        EXECUTE command;
    END LOOP;
END $$;
