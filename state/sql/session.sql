-- Sets the timeouts of the session or, with is_local, of the transaction. Keepalives: Postgres closes the connections of
-- a host that has vanished within half a minute, not after two hours; they count as connections, and may hold locks. A
-- pooler has to see to its own connections.
SELECT set_config('statement_timeout', %(statement_timeout)s, %(is_local)s),
       set_config('lock_timeout', %(lock_timeout)s, %(is_local)s),
       set_config('idle_in_transaction_session_timeout', %(idle_timeout)s, %(is_local)s),
       set_config('jit', 'off', %(is_local)s),
       set_config('timezone', 'UTC', %(is_local)s),
       CASE WHEN NOT %(is_local)s THEN concat(
           set_config('tcp_keepalives_idle', '10', false),
           set_config('tcp_keepalives_interval', '5', false),
           set_config('tcp_keepalives_count', '3', false),
           set_config('tcp_user_timeout', '30000', false)) END
