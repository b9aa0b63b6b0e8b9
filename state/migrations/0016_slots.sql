-- Every running task has a slot at each of its gates, and slots are deleted with their lease
-- (functions/tie_slots_to_leases.sql). The index makes two running tasks of one target impossible. The slots at targets
-- that are deleted here are written again when the functions are applied.
DELETE FROM callboard.slots WHERE gate LIKE 'target:%';
CREATE UNIQUE INDEX slots_target ON callboard.slots (gate) WHERE gate LIKE 'target:%';
