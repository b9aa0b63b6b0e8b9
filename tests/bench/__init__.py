"""The bench: Callboard beside its peers and beside bare servers, on one machine, in one run.

Kept free of imports: the peers' own Python (another venv) loads modules of this package too.
"""
