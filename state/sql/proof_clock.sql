-- The database's clock, in seconds.
SELECT extract(epoch FROM callboard.now())::double precision AS now
