-- Every running task has a slot at each of its gates, and slots die with their lease (functions/tie_slots_to_leases.sql).
-- Two running tasks at one target are impossible. Slots at targets come back with the functions.
DELETE FROM callboard.slots WHERE gate LIKE 'target:%';
CREATE UNIQUE INDEX slots_target ON callboard.slots (gate) WHERE gate LIKE 'target:%';
