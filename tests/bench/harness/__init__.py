"""What every group stands on: processes that end with the bench, Postgres, Redis, a whole Callboard, the venvs.

Kept free of imports, like all packages of the bench: the peers' own Python loads modules of it too.
"""
