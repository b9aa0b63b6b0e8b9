"""The bench: Callboard beside stock dramatiq-pg and procrastinate, on one Postgres, in one run.

Kept free of imports: the peers' own Python (another venv) loads modules of this package too.
"""
