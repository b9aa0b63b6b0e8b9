"""docs/admin-views.md: every view is there, and its query works for a reader."""

import re
import subprocess
from collections.abc import Iterator
from typing import Any

import psycopg

from state.database.embedded.account import find_binaries
from tests.docs.documents import ROOT, find_blocks, read_tables
from tests.roles.conftest import AddressOf
from tests.roles.rows import fill_database, fill_history
from tests.support.observer import Observer

PAGE = ROOT / "docs" / "admin-views.md"
EXAMPLES = {
    block.mark.removeprefix("view: "): block.text for block in find_blocks(PAGE) if block.mark.startswith("view: ")
}
LIVE = (
    "queue_status", "gates", "why_waiting", "workers", "sandboxes", "slow_tasks", "targets", "dead_letters",
    "errors_by_actor", "errors_by_agent",
)  # fmt: skip


HISTORY = {"tasks", "events_later", "attempts_later"}  # where the rows of these ids are


def test_the_page_has_every_view_and_a_query_for_each(connection: Observer) -> None:
    rows = connection.execute(
        "SELECT viewname, obj_description(to_regclass('admin.' || viewname)) AS comment FROM pg_views"
        " WHERE schemaname = 'admin'"
    ).fetchall()
    views = {row["viewname"] for row in rows}
    described = [name.removeprefix("admin.") for name, _ in read_tables(PAGE.read_text(), "| view | a row is |")]
    assert sorted(described) == sorted(views)
    assert EXAMPLES.keys() == views
    assert [name for name, text in EXAMPLES.items() if f"FROM admin.{name}" not in text] == []
    assert [row["viewname"] for row in rows if not row["comment"]] == []


def test_every_query_returns_rows_to_a_reader_in_psql(connection: Observer, address_of: AddressOf) -> None:
    fill_database(connection)
    text = "".join(f"\\echo view: {name}\n{query}" for name, query in EXAMPLES.items())
    out = run_psql(address_of("reader"), text)
    counts = {
        part.partition("\n")[0]: len(part.strip().splitlines()) - 1
        for part in re.split(r"^view: ", out, flags=re.MULTILINE)[1:]
    }
    assert counts.keys() == EXAMPLES.keys()
    assert [name for name, rows in counts.items() if rows < 1] == []


def run_psql(url: str, text: str) -> str:
    command = [str(find_binaries() / "psql"), "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", url]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_reader_reads_all_columns_of_every_view(connection: Observer, address_of: AddressOf) -> None:
    """A column that nobody asked for so far may call a function that the reader must not call."""
    fill_database(connection)
    with psycopg.connect(address_of("reader"), autocommit=True) as reader:
        for name in EXAMPLES:
            assert reader.execute(f"SELECT * FROM admin.{name}".encode()).fetchall() != [], name


def test_views_of_the_living_do_not_read_the_history(connection: Observer) -> None:
    fill_history(connection)
    scanned = {view: find_scanned(connection, EXAMPLES[view]) & HISTORY for view in LIVE}
    assert {view: tables for view, tables in scanned.items() if tables} == {}
    assert find_scanned(connection, EXAMPLES["invariants"]) >= {"tasks"}


def find_scanned(connection: Observer, query: str) -> set[str]:
    """Returns the tables that the plan of a query reads from one end to the other."""
    plan = connection.fetch_one(f"EXPLAIN (FORMAT json) {query}")["QUERY PLAN"][0]["Plan"]
    return set(_find_scanned(plan))


def _find_scanned(node: dict[str, Any]) -> Iterator[str]:
    if node["Node Type"] == "Seq Scan":
        yield node["Relation Name"]
    for below in node.get("Plans", []):
        yield from _find_scanned(below)
