SELECT id, queue FROM callboard.wake_lines()
