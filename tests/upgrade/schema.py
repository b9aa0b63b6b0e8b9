"""A schema as Postgres describes it, and that of the release before."""

import re
from pathlib import Path

from tests.support.clients import run_client

# What `callboard migrate` of release 21 makes of an empty database: pg_dump --schema-only --no-owner, without the
# session's settings, and the rows that it brings along.
SCHEMA_21 = Path(__file__).parent / "schema_21.sql"

_TABLE = re.compile(r"(CREATE TABLE \S+ \()\n(.*?)\n(\))", re.DOTALL)


def run_script(url: str, text: str) -> None:
    run_client("psql", url, "-X", "-q", "-v", "ON_ERROR_STOP=1", stdin=text)


def describe_schema(url: str) -> list[str]:
    """Returns the definitions of all objects, comments included. Two schemas that differ only in the order of columns
    have the same description."""
    dump = run_client("pg_dump", url, "--schema-only", "--no-owner", "--restrict-key=same")
    dump = re.sub(r"^SET .*\n", "", dump.partition("\n--\n-- PostgreSQL database dump complete")[0], flags=re.MULTILINE)
    _, *objects = re.split(r"\n--\n(?=-- Name: )", dump)
    return sorted(_TABLE.sub(_sort_columns, each).strip() for each in objects)


def _sort_columns(table: re.Match[str]) -> str:
    columns = sorted(line.rstrip(",") for line in table[2].splitlines())
    return "\n".join([table[1], *columns, table[3]])
