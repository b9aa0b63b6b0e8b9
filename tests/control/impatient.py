"""For workers of tests: code that does not stop is not waited for so long."""

from broker.worker import watchdog

watchdog.OVERDUE = 1.0
watchdog.PATIENCE = 0.5
