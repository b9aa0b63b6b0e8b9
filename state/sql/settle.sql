SELECT id, epoch, actor, queue, status, gates, busy FROM callboard.settle(%(worker)s, %(outcomes)s, %(wait)s)
