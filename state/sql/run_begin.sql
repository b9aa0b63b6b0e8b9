SELECT project_id, item_id, title, agent_name, task_type, input
FROM callboard.begin_run(%(id)s, %(epoch)s::integer, %(worker)s)
