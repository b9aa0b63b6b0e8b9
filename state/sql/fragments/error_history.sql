-- The errors of all attempts of a task t. One that has completed at its first attempt has none, and is not looked up.
CASE WHEN t.epoch > 1 OR t.epoch = 1 AND t.status <> 'completed' THEN
    ARRAY(SELECT a.error FROM callboard.attempts a
          WHERE a.task_id = t.id AND a.error IS NOT NULL ORDER BY a.epoch) ELSE '{}' END AS error_history
