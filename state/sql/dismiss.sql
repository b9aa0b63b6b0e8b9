SELECT * FROM callboard.dismiss(%(ids)s)
