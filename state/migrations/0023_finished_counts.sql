-- The counts of finished tasks. From here on the triggers count; the next file counts what was finished before.
CREATE TABLE callboard.finished_counts (
    status text COLLATE "C" NOT NULL,
    tasks  bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

CREATE OR REPLACE FUNCTION callboard.count_finished() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.status IN ('completed', 'canceled', 'dead') AND OLD.hidden_at IS NULL THEN
        INSERT INTO callboard.finished_counts (status, tasks) VALUES (OLD.status, -1);
    END IF;
    IF NEW.status IN ('completed', 'canceled', 'dead') AND NEW.hidden_at IS NULL THEN
        INSERT INTO callboard.finished_counts (status, tasks) VALUES (NEW.status, 1);
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER count_finished AFTER UPDATE OF status ON callboard.tasks
    FOR EACH ROW WHEN (
        OLD.status <> NEW.status AND (NEW.status IN ('completed', 'canceled', 'dead') OR OLD.status = 'dead'))
    EXECUTE FUNCTION callboard.count_finished();

CREATE TRIGGER count_hidden AFTER UPDATE OF hidden_at ON callboard.tasks
    FOR EACH ROW WHEN (OLD.status = NEW.status AND (OLD.hidden_at IS NULL) <> (NEW.hidden_at IS NULL))
    EXECUTE FUNCTION callboard.count_finished();
