SELECT * FROM callboard.claim(
    %(worker)s, %(claim_number)s, %(queues)s, %(free)s, %(ahead)s, %(short_actors)s, %(retry_share)s,
    make_interval(secs => %(lease_seconds)s), %(freed_gates)s)
