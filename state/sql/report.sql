SELECT id, epoch, busy FROM callboard.report(%(worker)s, %(reports)s, %(wait)s)
