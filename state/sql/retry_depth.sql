-- Counts the retry lane up to a limit.
SELECT count(*) AS depth FROM (
    SELECT FROM callboard.tasks WHERE status = 'queued' AND queue = ANY (%(queues)s) AND lane = 'retry' LIMIT %(limit)s
) AS queued
