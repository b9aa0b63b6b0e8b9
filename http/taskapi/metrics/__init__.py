"""Metrics for Prometheus: the requests of this process, and the state of the whole system."""
