"""A database of release 15 gets the same schema as a new one."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from state.errors import NotReady
from state.schema.files import schema_files
from state.schema.migration import migrate, script
from state.schema.version import OLDEST, VERSION, require_current_schema
from tests.conftest import settings_for
from tests.support.postgres import TestPostgres
from tests.upgrade.schema import SCHEMA_15, describe_schema, run_script

# Rows that the schema itself brings along.
ROWS = (
    "SELECT jsonb_build_object("
    "'maintainer', (SELECT jsonb_agg(m) FROM callboard.maintainer m),"
    "'version', (SELECT jsonb_agg(to_jsonb(v) - 'changed_at') FROM callboard.schema_version v),"
    "'schema_files', (SELECT jsonb_object_agg(f.name, f.digest) FROM callboard.schema_files f)"
    ") AS rows"
)


@pytest.fixture
def url_15(postgres: TestPostgres, tmp_path: Path) -> Iterator[str]:
    name = f"schema_15_{uuid4().hex[:12]}"
    postgres.execute(f"CREATE DATABASE {name}")
    try:
        with settings_for(postgres.url(name), tmp_path):
            run_script(postgres.url(name), SCHEMA_15.read_text())
            yield postgres.url(name)
    finally:
        postgres.execute(f"DROP DATABASE {name} WITH (FORCE)")


def read_rows(url: str) -> object:
    with psycopg.connect(url) as connection:
        row = connection.execute(ROWS).fetchone()
    assert row is not None
    return row[0]


def test_the_fixture_is_the_schema_of_release_15(url_15: str, old_url: str) -> None:
    assert describe_schema(url_15) == describe_schema(old_url)
    files = "SELECT name, digest FROM callboard.schema_files ORDER BY name"
    with psycopg.connect(url_15) as fixture, psycopg.connect(old_url) as old:
        assert fixture.execute(files).fetchall() == old.execute(files).fetchall()


def test_a_migrated_schema_is_the_same_as_a_fresh_one(database_url: str, url_15: str) -> None:
    applied = migrate()
    assert [name for name in applied if name.startswith("tables/")] == []
    assert f"migrations/{VERSION:04}" in " ".join(applied)
    require_current_schema()
    assert describe_schema(url_15) == describe_schema(database_url)
    assert read_rows(url_15) == read_rows(database_url)
    assert migrate() == []


def test_the_script_for_a_database_of_release_15_does_what_migrate_does(database_url: str, url_15: str) -> None:
    run_script(url_15, script())
    assert script() == "-- Nothing to do.\n"
    assert migrate() == []
    require_current_schema()
    assert describe_schema(url_15) == describe_schema(database_url)
    assert read_rows(url_15) == read_rows(database_url)


def test_a_database_before_release_15_is_refused_and_not_touched(url_15: str) -> None:
    with psycopg.connect(url_15, autocommit=True) as connection:
        connection.execute("DELETE FROM callboard.schema_files WHERE name = 'migrations/0015_reports'")
    before = describe_schema(url_15)
    for verb in (migrate, script):
        with pytest.raises(NotReady, match=rf"has schema {OLDEST - 1}; .* Run `callboard migrate` of release {OLDEST}"):
            verb()
    assert describe_schema(url_15) == before


def test_every_table_has_a_comment(database_url: str) -> None:
    tables = (
        "SELECT c.oid::regclass::text FROM pg_class c "
        "WHERE c.relnamespace IN ('callboard'::regnamespace, 'dramatiq'::regnamespace) AND c.relkind = 'r' "
        "AND obj_description(c.oid, 'pg_class') IS NULL"
    )
    with psycopg.connect(database_url) as connection:
        assert connection.execute(tables).fetchall() == []


def test_a_changed_comment_reaches_databases_that_exist(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("UPDATE callboard.applied_files SET digest = 'another' WHERE name = 'comments/leases'")
        connection.execute("COMMENT ON TABLE callboard.leases IS 'something else'")
    before = describe_schema(database_url)
    assert migrate() == ["comments/leases"]
    assert describe_schema(database_url) != before


def test_a_new_database_counts_all_migrations_as_applied(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        rows = connection.execute("SELECT name, digest FROM callboard.applied_files WHERE name ~ '^migrations/'")
        assert dict(rows.fetchall()) == {file.name: file.digest for file in schema_files("migrations")}
