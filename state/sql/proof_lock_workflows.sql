SELECT count(*) AS locked FROM (SELECT FROM callboard.workflows FOR UPDATE SKIP LOCKED) AS rows
