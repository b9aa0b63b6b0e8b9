SELECT w.pid FROM callboard.maintainer m JOIN callboard.workers w ON w.id = m.worker_id
