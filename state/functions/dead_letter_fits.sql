-- Whether a dead letter fits a filter: {actor, error_type, tenant, died_by}, all optional.
CREATE OR REPLACE FUNCTION callboard.dead_letter_fits(t callboard.tasks, wanted jsonb) RETURNS boolean LANGUAGE sql STABLE
AS $$
    SELECT t.hidden_at IS NULL
       AND (wanted ->> 'actor' IS NULL OR t.actor = wanted ->> 'actor')
       AND (wanted ->> 'error_type' IS NULL OR t.error ->> 'type' = wanted ->> 'error_type')
       AND (wanted ->> 'tenant' IS NULL OR t.tenant = wanted ->> 'tenant')
       AND (wanted ->> 'died_by' IS NULL OR t.finished_at <= (wanted ->> 'died_by')::timestamptz)
$$;
