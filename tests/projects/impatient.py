"""Makes a worker wait for locks for a moment only; imported by it among its actors."""

from state.database import pool

pool.TIMEOUTS["lock_timeout"] = "100ms"
