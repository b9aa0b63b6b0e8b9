-- A gate that begins to count waits until the claims that did not count there have committed; later claims see that it
-- counts. So no claim slips past a limit. Every session that inserts a gate holds its key, so a claim, which tries to
-- get the key first, never waits for an insert that is not committed. Only sessions that change gates wait here.
CREATE OR REPLACE FUNCTION callboard.lock_gate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF callboard.gate_counts(OLD) OR NOT callboard.gate_counts(NEW) THEN
            RETURN NEW;
        END IF;
    END IF;
    PERFORM pg_advisory_xact_lock(callboard.gate_lock(NEW.key));
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER lock_gate BEFORE INSERT OR UPDATE ON callboard.gates
    FOR EACH ROW EXECUTE FUNCTION callboard.lock_gate();
