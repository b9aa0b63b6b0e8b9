"""Fault runs that anybody can repeat: `callboard prove`, on the user's actors and server, and the storm of the tests
(tests/chaos/storm), which adds the faults that need a Postgres of their own.

All that happens is planned from a seed (schedule.py). Worker processes, HTTP servers and readers do their work
(cluster.py, readers.py, receiver.py), faults hit them (faults.py), and people submit, cancel and change meanwhile
(work.py). The tasks write a journal outside the database. When everything has ended, the journal and the database are
judged (judge.py, history.py, watching.py): nothing of Callboard's own bookkeeping is taken for granted."""
