SELECT count(*) AS locked FROM (SELECT FROM callboard.workers FOR UPDATE SKIP LOCKED) AS rows
