SELECT current_setting('server_version_num')::int AS version,
       clock_timestamp() AS now,
       current_user::text AS role,
       (SELECT r.rolsuper FROM pg_roles r WHERE r.rolname = current_user) AS superuser,
       pg_is_in_recovery() AS standby,
       pg_backend_pid() AS backend,
       ARRAY(SELECT r.rolname::text FROM pg_roles r
             WHERE r.rolname IN ('callboard_api', 'callboard_worker', 'callboard_reader') ORDER BY r.rolname) AS roles
