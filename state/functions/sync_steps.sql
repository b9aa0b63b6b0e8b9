-- Brings the statuses of a workflow's steps up to date: those of steps with tasks follow from their tasks, and approvals
-- expire while the workflow runs. One dead task makes its step dead, also while others of the step live: it needs a
-- person now, not when the last one has ended. Called under the lock of the workflow.
CREATE OR REPLACE FUNCTION callboard.sync_steps(its_id text) RETURNS void LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
    s record;
    details jsonb;
BEGIN
    FOR s IN
        SELECT d.key, CASE WHEN d.has_dead THEN 'dead' WHEN d.has_live THEN 'running' END AS next, d.branches
        FROM (
            SELECT x.key, x.position, x.status, x.branches,
                   EXISTS (SELECT FROM callboard.tasks t
                           WHERE t.workflow_id = its_id AND t.step = x.key AND t.status = 'dead') AS has_dead,
                   EXISTS (SELECT FROM callboard.tasks t
                           WHERE t.workflow_id = its_id AND t.step = x.key AND t.status NOT IN (/*terminal*/)
                             AND t.status <> 'dead') AS has_live
            FROM callboard.workflow_steps x
            WHERE x.workflow_id = its_id AND x.status IN ('running', 'dead') AND x.branches IS NOT NULL
            OFFSET 0  -- each of them is looked for once
        ) AS d
        WHERE d.status <> CASE WHEN d.has_dead THEN 'dead' WHEN d.has_live THEN 'running' ELSE 'ended' END
        ORDER BY d.position
    LOOP
        details := '{}';
        IF s.next IS NULL THEN
            SELECT CASE WHEN count(*) < s.branches THEN 'dead'
                        WHEN count(*) FILTER (WHERE t.status = 'canceled') > 0 THEN 'canceled'
                        ELSE 'completed' END INTO s.next
            FROM callboard.tasks t WHERE t.workflow_id = its_id AND t.step = s.key;
            details := CASE s.next WHEN 'dead' THEN
                '{"error": {"type": "TasksMissing", "message": "tasks of the step were removed"}}' ELSE '{}' END;
        ELSIF s.next = 'dead' THEN
            SELECT jsonb_build_object('error', jsonb_build_object('task_id', t.id) || coalesce(t.error - 'traceback', '{}'))
            INTO details FROM callboard.tasks t
            WHERE t.workflow_id = its_id AND t.step = s.key AND t.status = 'dead' ORDER BY t.branch LIMIT 1;
        END IF;
        PERFORM callboard.move_step(its_id, s.key, s.next, details);
    END LOOP;
    FOR s IN
        SELECT x.key FROM callboard.workflow_steps x JOIN callboard.workflows w ON w.id = x.workflow_id
        WHERE x.workflow_id = its_id AND x.status = 'waiting' AND x.expires_at <= callboard.now() AND w.status = 'running'
        ORDER BY x.position
    LOOP
        PERFORM callboard.move_step(its_id, s.key, 'expired', jsonb_build_object('error', jsonb_build_object(
            'type', 'ApprovalExpired', 'message', 'nobody has decided in time')));
    END LOOP;
END $$;
