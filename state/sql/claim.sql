SELECT * FROM callboard.claim_tasks(
    %(worker)s, %(claim_number)s, %(thread_queues)s, %(coroutine_queues)s, %(threads)s, %(coroutines)s, %(ahead)s,
    %(short_actors)s, %(known_actors)s, %(sync_actors)s, %(async_actors)s, %(retry_share)s,
    make_interval(secs => %(lease_seconds)s))
