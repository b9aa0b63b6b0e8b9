SELECT id, queue, busy FROM callboard.wake_gate(%(gate)s)
