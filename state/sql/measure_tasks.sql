SELECT measured_from, measured_to FROM callboard.measure_tasks(%(most_seconds)s)
