UPDATE callboard.workers SET stopped_at = callboard.now() WHERE id = ANY (%(ids)s) AND stopped_at IS NULL
