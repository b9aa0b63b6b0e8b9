DROP VIEW IF EXISTS admin.events;
CREATE VIEW admin.events AS
SELECT e.task_id, e.n, e.kind, e.data, e.at FROM callboard.events e;

COMMENT ON VIEW admin.events IS 'The history of tasks, workflows and projects, line by line. Filter by task_id, which holds the id of any of these: only its partition is read then.';
