UPDATE callboard.maintainer SET worker_id = NULL, expires_at = NULL WHERE worker_id = %(worker)s
