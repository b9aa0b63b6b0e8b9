-- The least id of a task that is created at this time.
CREATE OR REPLACE FUNCTION callboard.first_id(at timestamptz) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT 'tq_' || lpad(to_hex(greatest(0, extract(epoch FROM at) * 1000)::bigint), 12, '0') $$;

-- Makes partitions of events and attempts ahead, one for each month (UTC), up to that in three months. One call is one step
-- with short locks; it returns what was done, or NULL if nothing is left to do or somebody is in the way. The maintainer calls it
-- until then. Runs with the rights of the tables' owner, as workers may not make tables.
--
-- Rows for whose month there is no partition are in `later`. A month of which it has rows gets no partition any more: they
-- stay there. To attach another one, Postgres reads all of `later` while nobody else can. If that is large, a constraint
-- proves first, validated while rows are added, that there is nothing to find. It would refuse rows of its month: so it is
-- made for a month that is far away, and dropped if that comes near.
CREATE OR REPLACE FUNCTION callboard.make_partition() RETURNS text LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET lock_timeout = '300ms' SET timezone = 'UTC'
AS $$
DECLARE
    large constant bigint := 16 * 1024 * 1024;  -- bytes that are read in some milliseconds
    parent text;
    later text;
    part text;
    month timestamptz;
    first_one text;
    past text;
    found boolean;
    proof record;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('callboard partitions', 0)) THEN
        RETURN NULL;
    END IF;
    FOREACH parent IN ARRAY ARRAY['events', 'attempts'] LOOP
        later := parent || '_later';
        FOR ahead IN 0..3 LOOP
            month := date_trunc('month', callboard.now()) + make_interval(months => ahead);
            part := parent || to_char(month, '_YYYY_MM');
            first_one := callboard.first_id(month);
            past := callboard.first_id(month + interval '1 month');
            SELECT c.convalidated, strpos(pg_get_constraintdef(c.oid), first_one) > 0 AS fits INTO proof
            FROM pg_constraint c
            WHERE c.conrelid = ('callboard.' || later)::regclass AND c.conname = 'nothing_of_month';
            IF proof.fits AND ahead < 2 THEN
                EXECUTE format('ALTER TABLE callboard.%I DROP CONSTRAINT nothing_of_month', later);
                RETURN format('constraint of %s dropped', later);
            END IF;
            SELECT EXISTS (
                SELECT FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid,
                     LATERAL pg_get_expr(c.relpartbound, c.oid) AS b (bound)
                WHERE i.inhparent = ('callboard.' || parent)::regclass AND b.bound LIKE 'FOR VALUES FROM (''%'
                  AND substring(b.bound FROM 'FROM \(''(.*?)''\)') COLLATE "C" < past
                  AND coalesce(substring(b.bound FROM 'TO \(''(.*?)''\)') COLLATE "C" > first_one, true)) INTO found;
            CONTINUE WHEN found OR to_regclass('callboard.' || part) IS NOT NULL;
            EXECUTE format('SELECT EXISTS (SELECT FROM callboard.%I WHERE task_id >= %L AND task_id < %L)',
                           later, first_one, past) INTO found;
            CONTINUE WHEN found;
            IF pg_relation_size(('callboard.' || later)::regclass) > large AND proof.fits IS NOT TRUE THEN
                CONTINUE WHEN ahead < 2;
                EXECUTE format('ALTER TABLE callboard.%I DROP CONSTRAINT IF EXISTS nothing_of_month, '
                               'ADD CONSTRAINT nothing_of_month CHECK (task_id < %L OR task_id >= %L) NOT VALID',
                               later, first_one, past);
                RETURN format('constraint of %s added', later);
            ELSIF proof.fits AND NOT proof.convalidated THEN
                EXECUTE format('ALTER TABLE callboard.%I VALIDATE CONSTRAINT nothing_of_month', later);
                RETURN format('constraint of %s validated', later);
            END IF;
            EXECUTE format('CREATE TABLE callboard.%I (LIKE callboard.%I INCLUDING ALL EXCLUDING COMMENTS)', part, parent);
            EXECUTE format('COMMENT ON TABLE callboard.%I IS %L', part, format(
                '%s of the tasks that were created in %s.', initcap(parent), to_char(month, 'YYYY-MM')));
            EXECUTE format('ALTER TABLE callboard.%I ATTACH PARTITION callboard.%I FOR VALUES FROM (%L) TO (%L)',
                           parent, part, first_one, past);
            EXECUTE format('ALTER TABLE callboard.%I DROP CONSTRAINT IF EXISTS nothing_of_month', later);
            RETURN part;
        END LOOP;
    END LOOP;
    RETURN NULL;
EXCEPTION
    WHEN lock_not_available OR deadlock_detected THEN RETURN NULL;  -- the next turn tries again
END $$;
