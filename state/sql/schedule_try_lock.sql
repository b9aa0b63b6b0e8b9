SELECT s.id FROM callboard.schedules s WHERE s.id = %(id)s FOR NO KEY UPDATE SKIP LOCKED
