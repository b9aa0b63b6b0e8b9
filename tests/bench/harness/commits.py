"""The machine's own speed: how many single-row inserts per second Postgres commits here."""

import re

import psycopg

from tests.bench.harness.errors import BenchError
from tests.bench.harness.postgres import BINARIES, Server
from tests.bench.harness.processes import Children


def commit_rate(server: Server, children: Children, clients: int, seconds: int) -> float:
    script = server.folder / "insert.sql"
    script.write_text("insert into commits (payload) values ('a row');\n")
    with server.database("bench_commits") as url:
        with psycopg.connect(url) as connection:
            connection.execute(
                "create table commits (id bigint generated always as identity primary key, payload text not null)"
            )
        output = children.run(
            [
                str(BINARIES / "pgbench"),
                *("--no-vacuum", "--file", str(script), "--time", str(seconds)),
                *("--client", str(clients), "--jobs", str(min(clients, 2)), url),
            ],
            log=server.folder / "pgbench.log",
            timeout=seconds + 60,
        )
    found = re.search(r"tps = ([\d.]+)", output)
    if not found:
        raise BenchError(f"pgbench printed no rate:\n{output}")
    return float(found.group(1))
