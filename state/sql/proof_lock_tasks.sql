SELECT count(*) AS locked FROM (SELECT FROM callboard.tasks FOR UPDATE SKIP LOCKED) AS rows
