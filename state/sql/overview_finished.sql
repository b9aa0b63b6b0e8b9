-- How many tasks are completed, canceled and dead, as they were counted when they finished.
SELECT c.status, sum(c.tasks)::bigint AS tasks FROM callboard.finished_counts c GROUP BY c.status
