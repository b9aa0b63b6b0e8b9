SELECT * FROM callboard.report(%(reports)s)
