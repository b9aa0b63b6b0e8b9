"""For workers of tests: shorter waits for code that does not stop."""

from broker.worker import watchdog

watchdog.OVERDUE_SECONDS = 1.0
watchdog.STOP_SECONDS = 0.5
