SELECT count(*) AS locked FROM (SELECT FROM callboard.leases FOR UPDATE SKIP LOCKED) AS rows
