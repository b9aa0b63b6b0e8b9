-- Keepalives: Postgres notices within half a minute when a host has vanished, and frees the locks of its consumers.
-- Plans: without statistics, as after a burst, Postgres would read and sort the whole queue for each claim.
SELECT set_config('tcp_keepalives_idle', '10', false),
       set_config('tcp_keepalives_interval', '5', false),
       set_config('tcp_keepalives_count', '3', false),
       set_config('enable_seqscan', 'off', false),
       set_config('enable_bitmapscan', 'off', false),
       set_config('enable_sort', 'off', false)
