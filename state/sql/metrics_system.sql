SELECT (SELECT count(*) FROM callboard.workers
        WHERE stopped_at IS NULL AND seen_at > callboard.now() - make_interval(secs => %(lease_seconds)s)) AS workers,
       (SELECT worker_id IS NOT NULL AND expires_at > callboard.now() FROM callboard.maintainer) AS maintained,
       coalesce((SELECT greatest(extract(epoch FROM callboard.now() - min(next_at)), 0)::double precision
                 FROM callboard.schedules WHERE next_at IS NOT NULL), 0) AS schedule_lag_seconds
