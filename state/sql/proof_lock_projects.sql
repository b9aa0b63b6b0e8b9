SELECT count(*) AS locked FROM (SELECT FROM callboard.projects FOR UPDATE SKIP LOCKED) AS rows
