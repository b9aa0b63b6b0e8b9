-- The column is new and empty, so nothing has to be checked; NOT VALID avoids reading all tasks under the lock.
ALTER TABLE callboard.tasks ADD CONSTRAINT tasks_workflow_id_fkey
    FOREIGN KEY (workflow_id) REFERENCES callboard.workflows (id) NOT VALID;
