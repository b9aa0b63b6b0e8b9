"""The client programs that come with the tests' PostgreSQL."""

import subprocess
from pathlib import Path

import psycopg


def run_client(program: str, url: str, *arguments: str, stdin: str = "") -> str:
    done = run([find_client(program, url), *arguments, url], stdin)
    return done.stdout


def restore(url: str, file: Path) -> None:
    run([find_client("pg_restore", url), f"--dbname={url}", str(file)])


def run(command: list[str], stdin: str = "") -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done


def find_client(program: str, url: str) -> str:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT setting FROM pg_config WHERE name = 'BINDIR'").fetchone()
    assert row is not None
    return str(Path(row[0]) / program)


def dump_schema(url: str) -> str:
    """The whole schema, as Postgres describes it."""
    return run_client("pg_dump", url, "--schema-only", "--restrict-key=same")
