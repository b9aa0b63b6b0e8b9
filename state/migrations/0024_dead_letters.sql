-- Dead letters are counted by actor and type of error. Those that were counted before are counted again by the maintainer.
ALTER TABLE callboard.finished_counts ADD COLUMN actor text COLLATE "C", ADD COLUMN error_type text COLLATE "C";
