SELECT * FROM callboard.revive(%(ids)s, %(why)s, %(edited)s)
