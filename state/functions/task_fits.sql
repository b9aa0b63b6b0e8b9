-- Whether a task fits the filter of a bulk action: as newest_tasks takes it, with words, and with what dead_letter_fits knows.
-- An expression without a query: the planner puts it in place of the call.
CREATE OR REPLACE FUNCTION callboard.task_fits(t callboard.tasks, wanted jsonb) RETURNS boolean LANGUAGE sql STABLE
AS $$
    SELECT callboard.dead_letter_fits(t, wanted)
       AND (wanted ->> 'status' IS NULL OR t.status = wanted ->> 'status')
       AND (wanted ->> 'queue' IS NULL OR t.queue = wanted ->> 'queue')
       AND (wanted ->> 'lane' IS NULL OR t.lane = wanted ->> 'lane')
       AND (wanted ->> 'target' IS NULL OR t.target = wanted ->> 'target')
       AND (wanted ->> 'workflow_id' IS NULL OR t.workflow_id = wanted ->> 'workflow_id')
       AND (wanted ->> 'workflow_run_id' IS NULL OR t.payload ->> 'workflow_run_id' = wanted ->> 'workflow_run_id')
       AND (wanted -> 'words' IS NULL OR callboard.has_words(t, wanted -> 'words'))
$$;
