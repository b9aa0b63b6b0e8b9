SELECT key FROM callboard.declare_gates(%(gates)s)
