-- What only release 15 has called.
DROP FUNCTION IF EXISTS callboard.claim(text, bigint, text[], integer, integer, text[], double precision, interval, text[]);
DROP FUNCTION IF EXISTS callboard.settle(jsonb);
DROP FUNCTION IF EXISTS callboard.report(jsonb);
DROP FUNCTION IF EXISTS callboard.revive(text[], text, jsonb);
DROP FUNCTION IF EXISTS callboard.wake_lines();
DROP FUNCTION IF EXISTS callboard.wake(text[]);
DROP FUNCTION IF EXISTS callboard.take_slots(text[]);
DROP FUNCTION IF EXISTS callboard.backfill_slots();
DROP TABLE callboard.schema_files;
