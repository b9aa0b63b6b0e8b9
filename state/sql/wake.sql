SELECT id, queue FROM callboard.wake(%(gates)s)
