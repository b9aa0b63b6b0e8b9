"""How the schema is migrated while workers are at work."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from state.database import close_database
from state.errors import NotReady
from state.schema import files, migration, steps
from state.schema.files import SchemaFile
from state.schema.migration import migrate, script
from tests.conftest import settings_for
from tests.support.clients import dump_schema, run_client
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.support.postgres import TestPostgres

AddMigration = Callable[[str, str], str]


@pytest.fixture
def add_migration(monkeypatch: pytest.MonkeyPatch) -> AddMigration:
    """As if the next release had brought it: as a migration, and in the tables of a new database."""
    added: dict[str, str] = {}

    def known_and_added(kind: files.Kind) -> tuple[SchemaFile, ...]:
        known = files.schema_files(kind)
        if kind == "migrations":
            return (*known, *(SchemaFile(f"migrations/{name}", text) for name, text in added.items()))
        if kind == "tables":
            return (
                *known,
                *(SchemaFile(f"tables/{name}", text.replace(" CONCURRENTLY", "")) for name, text in added.items()),
            )
        return known

    def add(name: str, text: str) -> str:
        added[name] = text
        return f"migrations/{name}"

    monkeypatch.setattr(steps, "schema_files", known_and_added)
    return add


@pytest.fixture
def bare_url(postgres: TestPostgres, tmp_path: Path) -> Iterator[str]:
    name = f"bare_{uuid4().hex[:12]}"
    postgres.execute(f"CREATE DATABASE {name}")
    try:
        with settings_for(postgres.url(name), tmp_path):
            yield postgres.url(name)
    finally:
        postgres.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def open_reader(url: str, query: str) -> Iterator[psycopg.Connection]:
    """Holds a transaction open that has read something."""
    with psycopg.connect(url, application_name="a long reader") as reader:
        reader.execute(query)
        yield reader
        reader.rollback()


class Pulses(threading.Thread):
    """Writes what workers write at each pulse, and measures the slowest write."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self._url = url
        self._over = threading.Event()
        self.slowest = 0.0

    def run(self) -> None:
        with psycopg.connect(self._url, autocommit=True) as connection:
            while not self._over.wait(0.02):
                begun = time.monotonic()
                connection.execute("UPDATE callboard.workers SET seen_at = now()")
                connection.execute("UPDATE callboard.leases SET renewed_at = now()")
                self.slowest = max(self.slowest, time.monotonic() - begun)

    def stop(self) -> float:
        self._over.set()
        self.join(30)
        return self.slowest


def test_a_migration_that_cannot_get_its_lock_tries_again_and_stops_no_pulse_for_longer_than_its_timeout(
    database_url: str, connection: Observer, postgres: TestPostgres, add_migration: AddMigration
) -> None:
    name = add_migration("9001_column", "ALTER TABLE callboard.leases ADD COLUMN extra text;")
    position = postgres.log_size()
    pulses = Pulses(database_url)
    pulses.start()
    with ThreadPoolExecutor() as pool, open_reader(database_url, "SELECT count(*) FROM callboard.leases") as reader:
        migration = pool.submit(migrate)
        eventually(lambda: postgres.log_since(position).count("lock timeout") >= 2, what="two tries")
        assert not migration.done()
        reader.rollback()
        assert migration.result(30) == [name]
    slowest = pulses.stop()
    assert 0.5 < slowest < 4  # a pulse waits behind one try of 2 s, and a busy machine adds to that
    assert connection.execute("SELECT extra FROM callboard.leases").fetchall() == []


def test_a_migration_gives_up_in_the_end_and_names_the_holder_of_the_lock(
    database_url: str, connection: Observer, add_migration: AddMigration, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migration, "PATIENCE", 1.0)
    add_migration("9001_table", "CREATE TABLE callboard.extra (id integer);")
    add_migration("9002_column", "ALTER TABLE callboard.leases ADD COLUMN extra text;")
    with open_reader(database_url, "SELECT count(*) FROM callboard.leases") as reader:
        holder = rf"process {reader.info.backend_pid} \(a long reader, user \w+\), idle in transaction"
        with pytest.raises(NotReady, match=rf"9002_column could not get a lock.* held by: {holder}"):
            migrate()
    assert migrate() == ["migrations/9002_column"]


def test_what_was_applied_before_an_error_stays_and_the_next_run_goes_on(
    connection: Observer, add_migration: AddMigration
) -> None:
    first = add_migration("9001_fine", "CREATE TABLE callboard.first (id integer);")
    add_migration("9002_wrong", "CREATE TABLE callboard.second (id integer); SELECT 1 / 0;")
    with pytest.raises(psycopg.errors.DivisionByZero):
        migrate()
    tables = connection.execute("SELECT to_regclass('callboard.first') AS a, to_regclass('callboard.second') AS b")
    assert tables.fetchone() == {"a": "callboard.first", "b": None}
    second = add_migration("9002_wrong", "CREATE TABLE callboard.second (id integer);")
    assert migrate() == [second]
    applied = connection.execute("SELECT name FROM callboard.applied_files WHERE name ~ '/9' ORDER BY 1").fetchall()
    assert [row["name"] for row in applied] == [first, second]


INDEX = """-- autocommit
-- Two statements; the semicolon in 'a;b' and the one in this comment; end neither.
INSERT INTO callboard.prompts (tenant, id, text, created_at, updated_at)
VALUES ('', 'a', 'a;b', now(), now()) ON CONFLICT DO NOTHING;
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS prompts_text ON callboard.prompts (text)
"""


def test_an_index_is_built_concurrently_and_built_again_when_a_try_has_left_it_invalid(
    connection: Observer, add_migration: AddMigration
) -> None:
    def is_valid() -> bool | None:
        row = connection.execute(
            "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('callboard.prompts_text')"
        ).fetchone()
        return bool(row["indisvalid"]) if row else None

    insert = "INSERT INTO callboard.prompts VALUES ('', %s, %s, now(), now())"
    for name in ("x", "y"):
        connection.execute(insert, [name, "the same text"])
    name = add_migration("9001_index", INDEX)
    with pytest.raises(psycopg.errors.UniqueViolation):
        migrate()
    assert is_valid() is False
    connection.execute("DELETE FROM callboard.prompts WHERE id = 'y'")
    assert migrate() == [name]
    assert is_valid() is True
    assert connection.execute("SELECT text FROM callboard.prompts WHERE id = 'a'").fetchall() == [{"text": "a;b"}]


def test_an_index_that_waits_for_an_old_transaction_stops_no_pulse(
    database_url: str, connection: Observer, add_migration: AddMigration
) -> None:
    text = "-- autocommit\nCREATE INDEX CONCURRENTLY IF NOT EXISTS leases_extra ON callboard.leases (renewed_at);"
    name = add_migration("9001_index", text)
    waiting = "SELECT FROM pg_stat_activity WHERE application_name = 'callboard migrate' AND wait_event_type = 'Lock'"
    with ThreadPoolExecutor() as pool, open_reader(database_url, "SELECT count(*) FROM callboard.tasks") as reader:
        reader.execute("UPDATE callboard.leases SET renewed_at = now()")
        migration = pool.submit(migrate)
        eventually(lambda: connection.execute(waiting).fetchall(), what="the index waits")
        connection.execute("SET lock_timeout = '1s'")
        connection.execute("UPDATE callboard.workers SET seen_at = now()")
        connection.execute("UPDATE callboard.leases SET renewed_at = now()")
        reader.rollback()
        assert migration.result(30) == [name]


def test_two_migrators_at_once_apply_everything_once(bare_url: str) -> None:
    with ThreadPoolExecutor() as pool:
        nothing, everything = sorted(future.result(60) for future in [pool.submit(migrate) for _ in range(2)])
    assert nothing == []
    assert len(set(everything)) == len(everything) > 30


def test_a_migrator_that_finds_another_at_work_gives_up_in_the_end(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migration, "PATIENCE", 0.2)
    with psycopg.connect(database_url, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(4711200801)")
        with pytest.raises(
            NotReady, match=rf"Another `callboard migrate` is at work \(process {other.info.backend_pid} "
        ):
            migrate()


def test_what_the_script_says_is_what_migrate_does(
    database_url: str, bare_url: str, tmp_path: Path, add_migration: AddMigration
) -> None:
    add_migration("9001_index", INDEX)
    text = script()
    assert dump_schema(bare_url).count("CREATE") == 0  # the script has changed nothing
    parts = ("-- tables/agents, ", "-- functions/", "-- views/", "INSERT INTO callboard.schema_version")
    positions = [text.index(part) for part in parts]
    assert positions == sorted(positions)
    run_client("psql", bare_url, "-X", "-q", "-v", "ON_ERROR_STOP=1", stdin=text)
    assert script() == "-- Nothing to do.\n"
    assert migrate() == []
    migration.require_current_schema()
    close_database()
    with settings_for(database_url, tmp_path):
        assert "-- migrations/9001_index\n-- autocommit\n" in script()
        assert migrate() == ["migrations/9001_index"]
    assert dump_schema(bare_url) == dump_schema(database_url)
