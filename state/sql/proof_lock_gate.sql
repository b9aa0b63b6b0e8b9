UPDATE callboard.gates SET paused = paused WHERE key = %(key)s RETURNING key
