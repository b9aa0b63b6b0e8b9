-- How long the retry lane is, as far as it matters.
SELECT count(*) AS depth FROM (
    SELECT FROM callboard.tasks WHERE status = 'queued' AND queue = ANY (%(queues)s) AND lane = 'retry' LIMIT %(limit)s
) AS queued
