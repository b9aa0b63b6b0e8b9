-- No key and no index: rows are only added by those who finish tasks, and none of them waits for another.
CREATE TABLE callboard.finished_counts (
    status     text COLLATE "C" NOT NULL,
    tasks      bigint NOT NULL,
    actor      text COLLATE "C",
    error_type text COLLATE "C"
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

COMMENT ON TABLE callboard.finished_counts IS 'How many tasks are completed, canceled or dead, without those that were deleted: the sum for each status. Written by count_finished; the maintainer adds the rows up.';
COMMENT ON COLUMN callboard.finished_counts.actor IS 'Of dead letters, like error_type. NULL for dead letters that an earlier release has counted, until the maintainer has counted them again.';
COMMENT ON COLUMN callboard.finished_counts.tasks IS 'How many more (or fewer) tasks have this status since the rows before.';
