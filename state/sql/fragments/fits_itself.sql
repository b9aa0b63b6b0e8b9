-- In newest_tasks: whether a listed task l fits the filters that each task of a kind must be asked for. The tenant is among
-- them, although the kind has it: whose a task is must not depend on a hash.
(wanted_tenant IS NULL OR l.tenant = wanted_tenant)
AND (wanted_target IS NULL OR l.target = wanted_target)
AND (wanted_workflow IS NULL OR l.workflow_id = wanted_workflow)
AND (wanted_run IS NULL OR l.payload ->> 'workflow_run_id' = wanted_run)
AND (died_by IS NULL OR l.finished_at <= died_by)
