SELECT id, epoch, actor, queue, before, status, gates FROM callboard.dismiss(%(ids)s)
