"""Makes the events of `bare_sse` in a process of its own: each is a row and a NOTIFY, committed together.

`python -m tests.bench.references.bare_events TASKS PERIOD`, with BENCH_DATABASE_URL.
"""

import os
import sys
import time

import psycopg

from tests.bench.references.bare_sse import CHANNEL, make_event


def main(tasks: int, period: float, database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS bench_events (task integer, n integer, data text)")
        print("running", flush=True)
        n, due = 0, time.monotonic()
        while True:
            n += 1
            for task in range(tasks):
                time.sleep(max(0.0, due - time.monotonic()))
                text = make_event(n)
                connection.execute(
                    "WITH kept AS (INSERT INTO bench_events VALUES (%s, %s, %s)) SELECT pg_notify(%s, %s)",
                    [task, n, text, CHANNEL, f"{task} {n} {text}"],
                )
                due += period / tasks


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), os.environ["BENCH_DATABASE_URL"])
