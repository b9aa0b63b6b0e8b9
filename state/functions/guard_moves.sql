-- The last line of defense: no statement, ours or an operator's, can make a move that is not on the list.
-- Once for each statement and with a constant list: a row trigger or a lookup costs more than the move itself.
CREATE OR REPLACE FUNCTION callboard.guard_moves() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    illegal text;
BEGIN
    SELECT o.id || ': ' || o.status || ' -> ' || n.status INTO illegal
    FROM before o JOIN after n ON n.id = o.id
    WHERE o.status <> n.status AND o.status || '>' || n.status <> ALL (ARRAY[/*moves*/])
    LIMIT 1;
    IF illegal IS NOT NULL THEN
        RAISE EXCEPTION 'illegal transition of task %', illegal USING ERRCODE = 'CB001';
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER guard_moves AFTER UPDATE ON callboard.tasks
    REFERENCING OLD TABLE AS before NEW TABLE AS after
    FOR EACH STATEMENT EXECUTE FUNCTION callboard.guard_moves();

CREATE OR REPLACE FUNCTION callboard.guard_births() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    illegal text;
BEGIN
    SELECT n.id || ': ' || n.status INTO illegal FROM after n WHERE n.status <> ALL (ARRAY[/*births*/]) LIMIT 1;
    IF illegal IS NOT NULL THEN
        RAISE EXCEPTION 'a task cannot begin as %', illegal USING ERRCODE = 'CB001';
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER guard_births AFTER INSERT ON callboard.tasks
    REFERENCING NEW TABLE AS after
    FOR EACH STATEMENT EXECUTE FUNCTION callboard.guard_births();
