"""Fault runs with real processes. What the tasks themselves write down (deploy/prove/journal.py) is judged afterwards.
The storm puts all faults together; tests/chaos/storm/__init__.py says how to replay one by its seed."""
