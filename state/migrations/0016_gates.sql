-- Every running task has its slots, so a limit that is set on a busy gate finds its tasks counted already.
DROP TRIGGER IF EXISTS count_running_insert ON callboard.gates;
DROP TRIGGER IF EXISTS count_running_update ON callboard.gates;
DROP FUNCTION IF EXISTS callboard.count_running;

-- What the code declares. The gate follows it unless an operator has set another value.
ALTER TABLE callboard.gates
    ADD COLUMN declared_rate_count        integer,
    ADD COLUMN declared_rate_seconds      double precision,
    ADD COLUMN declared_breaker_threshold double precision,
    ADD COLUMN declared_breaker_volume    integer,
    ADD COLUMN declared_breaker_window    double precision,
    ADD COLUMN declared_breaker_seconds   double precision;
