DELETE FROM callboard.stored_bytes WHERE sha256 = %(sha256)s
