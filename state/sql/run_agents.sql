-- The agents of the items that a run may still take.
SELECT a.agent_name, a.task_type FROM callboard.coming_agents(%(id)s) AS a
