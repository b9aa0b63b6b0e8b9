SELECT callboard.wait_after_failover(make_interval(secs => %(lease_seconds)s)) AS seconds
