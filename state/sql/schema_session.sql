-- Nothing waits behind a migration that waits for a lock for longer than this.
SET lock_timeout = '2s';
SET statement_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
