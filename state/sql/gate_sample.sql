SELECT callboard.sample_gates(%(most)s)
