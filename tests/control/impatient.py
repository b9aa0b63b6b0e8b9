"""For workers of tests: code that does not stop is not waited for so long."""

from broker import watch

watch.OVERDUE = 1.0
watch.PATIENCE = 0.5
