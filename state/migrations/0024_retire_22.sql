-- What only servers of release 22 have called: the verbs without the name of who asks.
DROP FUNCTION IF EXISTS callboard.cancel_workflow(text, text);
DROP FUNCTION IF EXISTS callboard.stop_queue(text, boolean);
DROP FUNCTION IF EXISTS callboard.dismiss(text[]);
DROP FUNCTION IF EXISTS callboard.revive_tasks(text[], text, jsonb, jsonb);
DROP FUNCTION IF EXISTS callboard.retry_item(text, text);
DROP FUNCTION IF EXISTS callboard.resume_workflow(text);
