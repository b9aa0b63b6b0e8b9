SELECT set_config('lock_timeout', %(value)s, false)
