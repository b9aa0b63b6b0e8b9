"""Numbers that all contenders share; the peers' Python loads them too."""

PROCESSES = 2
THREADS = 8
BATCH = 1000  # tasks in one batched submit, for everybody
NAP = 0.05  # seconds of a `nap`: with 16 places some 300 tasks a second, so the workers work and the backlog stays
HOLD = 600.0  # seconds of a `hold`: longer than any recovery that is waited for
WAIT_VARIABLE = "BENCH_WAIT"  # seconds of a `wait`
