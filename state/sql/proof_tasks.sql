-- All tasks, for a judge of what has become of them. `code`: what runs. `found_nothing`: a run of a project without an item.
SELECT t.id, CASE WHEN t.actor = 'agent' THEN t.payload ->> 'agent_name' ELSE t.actor END AS code, t.status, t.epoch, t.tokens,
       t.checkpoint,
       t.actor = 'project_run' AND t.status = 'completed' AND t.result ->> 'item_id' IS NULL AS found_nothing
FROM callboard.tasks t
