"""The client programs that come with the tests' PostgreSQL."""

import subprocess
from pathlib import Path

import psycopg


def run_client(program: str, url: str, *arguments: str, stdin: str = "") -> str:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT setting FROM pg_config WHERE name = 'BINDIR'").fetchone()
    assert row is not None
    command = [str(Path(row[0]) / program), *arguments, url]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def dump_schema(url: str) -> str:
    """The whole schema, as Postgres describes it."""
    return run_client("pg_dump", url, "--schema-only", "--restrict-key=same")
