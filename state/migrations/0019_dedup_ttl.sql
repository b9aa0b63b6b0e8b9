-- How long the key is held from the moment it is taken, in seconds: a revived task takes it for as long again.
-- NULL: taken by release 15.
ALTER TABLE callboard.dedup ADD COLUMN ttl double precision;
