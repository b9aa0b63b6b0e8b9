-- Sets the timeouts of the session or, with is_local, of the transaction.
SELECT set_config('statement_timeout', %(statement_timeout)s, %(is_local)s),
       set_config('lock_timeout', %(lock_timeout)s, %(is_local)s),
       set_config('idle_in_transaction_session_timeout', %(idle_timeout)s, %(is_local)s),
       set_config('jit', 'off', %(is_local)s),
       set_config('timezone', 'UTC', %(is_local)s)
