"""Metrics of a worker process, for Prometheus. Nothing is measured unless CALLBOARD_METRICS_PORT is set."""
