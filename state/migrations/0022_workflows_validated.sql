ALTER TABLE callboard.tasks VALIDATE CONSTRAINT tasks_workflow_id_fkey;
