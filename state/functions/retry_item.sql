-- Puts a failed item back. Returns no row if the project has no such item. moved is also true for an item that was put back
-- before and has not been taken since: a repetition after a lost connection must not fail.
CREATE OR REPLACE FUNCTION callboard.retry_item(its_project text, its_id text, by_whom text)
RETURNS TABLE (status text, moved boolean) LANGUAGE plpgsql AS $$
DECLARE
    i callboard.project_items;
BEGIN
    PERFORM FROM callboard.projects p WHERE p.id = its_project FOR NO KEY UPDATE;
    SELECT * INTO i FROM callboard.project_items x WHERE x.id = its_id AND x.project_id = its_project;
    IF i.id IS NULL THEN
        RETURN;
    END IF;
    moved := i.status = 'failed' OR i.status = 'pending' AND i.run_id IS NOT NULL;
    IF i.status = 'failed' THEN
        UPDATE callboard.project_items x
        SET status = 'pending', finished_at = NULL, updated_at = callboard.now()
        WHERE x.id = its_id
        RETURNING * INTO i;
        PERFORM callboard.log_item(i, 'failed', NULL, 'retried', by_whom);
    END IF;
    status := i.status;
    RETURN NEXT;
END $$;
