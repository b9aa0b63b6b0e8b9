-- The errors of all attempts of a task t. One that has completed at its first attempt has none, and is not looked up.
CASE WHEN t.epoch > 1 OR t.epoch = 1 AND t.status <> 'completed' THEN callboard.errors_of(t.id)
     ELSE '{}' END AS error_history
