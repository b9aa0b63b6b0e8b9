-- The trigger had the name that release 15 has given it.
ALTER TRIGGER drop_kept_slots ON callboard.tasks RENAME TO drop_reservations;
