"""A schema as Postgres describes it."""

import re

from tests.support.clients import run_client

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
