-- The last defense: no statement, ours or an operator's, can make a move that is not on the list.
CREATE OR REPLACE FUNCTION callboard.guard_births() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.status = ANY (ARRAY[/*startable*/]) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'task % cannot begin as %', NEW.id, NEW.status USING ERRCODE = 'CB001';
END $$;

-- Without WHEN: Postgres parses the text of such a condition again for each statement, which takes longer than the
-- function.
CREATE OR REPLACE TRIGGER guard_births BEFORE INSERT ON callboard.tasks
    FOR EACH ROW EXECUTE FUNCTION callboard.guard_births();

CREATE OR REPLACE FUNCTION callboard.may_move(before text, after text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN before || '>' || after = ANY (ARRAY[/*moves*/]);
END $$;

CREATE OR REPLACE FUNCTION callboard.refuse_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'illegal transition of task %: % -> %', NEW.id, OLD.status, NEW.status USING ERRCODE = 'CB001';
END $$;

-- With WHEN: most updates touch many rows, or do not change the status at all.
CREATE OR REPLACE TRIGGER guard_moves AFTER UPDATE OF status ON callboard.tasks
    FOR EACH ROW WHEN (OLD.status <> NEW.status AND NOT callboard.may_move(OLD.status, NEW.status))
    EXECUTE FUNCTION callboard.refuse_move();

-- Deletes the reservations of a task that starts or leaves the line for good. Its gates are woken by the process that
-- has moved it, or by the next sweep.
CREATE OR REPLACE FUNCTION callboard.drop_reservations() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.status IN ('queued', 'waiting') AND NEW.status NOT IN ('queued', 'waiting') THEN
        DELETE FROM callboard.reservations WHERE task_id = NEW.id;
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER drop_reservations AFTER UPDATE OF status ON callboard.tasks
    FOR EACH ROW WHEN (OLD.bounces > 0) EXECUTE FUNCTION callboard.drop_reservations();
