"""The soak: hours of mixed work with a fault now and then, to see what grows.

    python -m tests.chaos.soak --minutes 60 --keep build/soak

It measures the memory of every process, connections, tables and indexes, and how late events arrive, and prints what
has grown and what may. The same is in `soak.json`, and as plots in `soak.svg`. One tree of workers and the HTTP server
are never hit: a leak would show in their memory. What the tasks have done is judged as well
(tests/machines/verdict.py). Ctrl-C ends it early, with a verdict."""
