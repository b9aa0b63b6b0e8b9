-- The last line of defense: no statement, ours or an operator's, can make a move that is not on the list.
-- The WHEN conditions are tested without calling anything; only an illegal move reaches the function.
CREATE OR REPLACE FUNCTION callboard.refuse_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        RAISE EXCEPTION 'task % cannot begin as %', NEW.id, NEW.status USING ERRCODE = 'CB001';
    END IF;
    RAISE EXCEPTION 'illegal transition of task %: % -> %', NEW.id, OLD.status, NEW.status USING ERRCODE = 'CB001';
END $$;

CREATE OR REPLACE TRIGGER guard_moves AFTER UPDATE OF status ON callboard.tasks
    FOR EACH ROW WHEN (OLD.status <> NEW.status AND OLD.status || '>' || NEW.status <> ALL (ARRAY[/*moves*/]))
    EXECUTE FUNCTION callboard.refuse_move();

CREATE OR REPLACE TRIGGER guard_births AFTER INSERT ON callboard.tasks
    FOR EACH ROW WHEN (NEW.status <> ALL (ARRAY[/*births*/]))
    EXECUTE FUNCTION callboard.refuse_move();

-- A task that leaves the line for good gives back the slots that it kept; its gates are woken by whoever moved it,
-- or by the next sweep.
CREATE OR REPLACE FUNCTION callboard.drop_kept_slots() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM callboard.slots WHERE task_id = NEW.id AND epoch = 0;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER drop_kept_slots AFTER UPDATE OF status ON callboard.tasks
    FOR EACH ROW WHEN (OLD.status IN ('queued', 'waiting') AND OLD.bounces > 0
                       AND NEW.status NOT IN ('queued', 'waiting', 'running'))
    EXECUTE FUNCTION callboard.drop_kept_slots();
