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

-- Actors keep their own tables here. Whoever is the owner can read them.
GRANT CREATE, USAGE ON SCHEMA public TO callboard_worker;

GRANT callboard_worker TO callboard_owner;

-- Up to schema 22 everything belonged to the superuser: what is ours becomes the owner's, and what actors have made
-- becomes the workers'.
DO $$
DECLARE
    command record;
BEGIN
    FOR command IN
        WITH places AS (
            SELECT n.oid, n.nspname, n.nspowner, n.nspname IN ('callboard', 'admin', 'dramatiq') AS is_ours
            FROM pg_namespace n WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
        ), things AS (
            SELECT 'pg_namespace'::regclass AS kind, p.oid, p.nspowner AS owner, p.is_ours, format('SCHEMA %I', p.nspname) AS name
            FROM places p
            UNION ALL
            SELECT 'pg_class'::regclass, c.oid, c.relowner, p.is_ours, format('TABLE %s', c.oid::regclass)
            FROM pg_class c JOIN places p ON p.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S')
            UNION ALL
            SELECT 'pg_proc'::regclass, r.oid, r.proowner, p.is_ours, format('ROUTINE %s', r.oid::regprocedure)
            FROM pg_proc r JOIN places p ON p.oid = r.pronamespace
            UNION ALL
            SELECT 'pg_type'::regclass, t.oid, t.typowner, p.is_ours, format('TYPE %s', t.oid::regtype)
            FROM pg_type t JOIN places p ON p.oid = t.typnamespace WHERE t.typtype IN ('d', 'e')
        )
        SELECT t.is_ours,
               format('ALTER %s OWNER TO %I', t.name, CASE WHEN t.is_ours THEN 'callboard_owner' ELSE 'callboard_worker' END) AS text
        FROM things t
        WHERE t.owner = 'postgres'::regrole
          -- Not parts of extensions and of other things, such as the sequence of a column.
          AND NOT EXISTS (SELECT FROM pg_depend d
                          WHERE d.classid = t.kind AND d.objid = t.oid AND d.deptype IN ('e', 'a', 'i'))
    LOOP
        BEGIN
            EXECUTE command.text;
        EXCEPTION WHEN OTHERS THEN
            IF command.is_ours THEN
                RAISE;
            END IF;
            RAISE WARNING '%: %', command.text, SQLERRM;
        END;
    END LOOP;
END $$;
