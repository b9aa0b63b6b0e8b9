-- Counts the finished tasks while they finish: counting them in the history would read all of it. Each change is a row of
-- its own, so nobody waits for a counter; the sum of the rows that a statement sees is exact for what it sees.
CREATE OR REPLACE FUNCTION callboard.count_finished() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.status IN (/*finished*/) AND OLD.hidden_at IS NULL THEN
        INSERT INTO callboard.finished_counts (status, tasks, actor, error_type)
        VALUES (OLD.status, -1, CASE OLD.status WHEN 'dead' THEN OLD.actor END,
                CASE OLD.status WHEN 'dead' THEN OLD.error ->> 'type' END);
    END IF;
    IF NEW.status IN (/*finished*/) AND NEW.hidden_at IS NULL THEN
        INSERT INTO callboard.finished_counts (status, tasks, actor, error_type)
        VALUES (NEW.status, 1, CASE NEW.status WHEN 'dead' THEN NEW.actor END,
                CASE NEW.status WHEN 'dead' THEN NEW.error ->> 'type' END);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER count_finished AFTER UPDATE OF status ON callboard.tasks
    FOR EACH ROW WHEN (OLD.status <> NEW.status AND (NEW.status IN (/*finished*/) OR OLD.status = 'dead'))
    EXECUTE FUNCTION callboard.count_finished();

CREATE OR REPLACE TRIGGER count_hidden AFTER UPDATE OF hidden_at ON callboard.tasks
    FOR EACH ROW WHEN (OLD.status = NEW.status AND (OLD.hidden_at IS NULL) <> (NEW.hidden_at IS NULL))
    EXECUTE FUNCTION callboard.count_finished();
