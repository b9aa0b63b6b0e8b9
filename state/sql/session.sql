SET statement_timeout = '30s';
SET lock_timeout = '10s';
SET idle_in_transaction_session_timeout = '60s';
SET jit = off;
SET timezone = 'UTC';
