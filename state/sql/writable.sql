SELECT current_setting('transaction_read_only') = 'off' AND NOT pg_is_in_recovery() AS writable
