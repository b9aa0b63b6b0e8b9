SELECT key FROM callboard.lines_after(%(after)s, %(limit)s)
