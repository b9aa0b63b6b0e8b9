"""A database of the release before gets the same schema as a new one."""

import psycopg
import pytest

from state.errors import NotReady
from state.schema.files import schema_files
from state.schema.migration import migrate, script
from state.schema.version import OLDEST, VERSION, require_current_schema
from tests.upgrade.schema import describe_schema, run_script

# Rows that the schema itself brings along.
ROWS = (
    "SELECT jsonb_build_object("
    "'maintainer', (SELECT jsonb_agg(m) FROM callboard.maintainer m),"
    "'version', (SELECT jsonb_agg(to_jsonb(v) - 'changed_at') FROM callboard.schema_version v)"
    ") AS rows"
)


def read_rows(url: str) -> object:
    with psycopg.connect(url) as connection:
        row = connection.execute(ROWS).fetchone()
    assert row is not None
    return row[0]


def test_a_migrated_schema_is_the_same_as_a_fresh_one(database_url: str, old_url: str) -> None:
    applied = migrate()
    assert [name for name in applied if name.startswith("tables/")] == []
    assert f"migrations/{VERSION:04}" in " ".join(applied)
    require_current_schema()
    assert describe_schema(old_url) == describe_schema(database_url)
    assert read_rows(old_url) == read_rows(database_url)
    assert migrate() == []


def test_the_script_for_a_database_of_the_release_before_does_what_migrate_does(
    database_url: str, old_url: str
) -> None:
    run_script(old_url, script())
    assert script() == "-- Nothing to do.\n"
    assert migrate() == []
    require_current_schema()
    assert describe_schema(old_url) == describe_schema(database_url)
    assert read_rows(old_url) == read_rows(database_url)


def refuse_to_migrate(url: str, reason: str) -> None:
    before = describe_schema(url), read_rows(url)
    for verb in (migrate, script):
        with pytest.raises(NotReady, match=reason):
            verb()
    assert (describe_schema(url), read_rows(url)) == before


def test_a_database_of_an_older_release_is_refused_and_not_touched(old_url: str) -> None:
    with psycopg.connect(old_url, autocommit=True) as connection:
        connection.execute("DELETE FROM callboard.applied_files WHERE name ~ '^migrations/'")
        connection.execute(f"INSERT INTO callboard.applied_files VALUES ('migrations/{OLDEST - 1:04}_tasks', '')")
        connection.execute(f"UPDATE callboard.schema_version SET version = {OLDEST - 1}")
    refuse_to_migrate(old_url, rf"has schema {OLDEST - 1}; .* Run `callboard migrate` of release {OLDEST}")


def test_a_database_of_release_15_is_refused_and_not_taken_for_a_new_one(old_url: str) -> None:
    """Release 15 has kept its files in schema_files, and knows no version."""
    with psycopg.connect(old_url, autocommit=True) as connection:
        connection.execute("DROP TABLE callboard.applied_files; TRUNCATE callboard.schema_version")
        connection.execute("CREATE TABLE callboard.schema_files (name text PRIMARY KEY, digest text NOT NULL)")
        connection.execute("INSERT INTO callboard.schema_files VALUES ('migrations/0015_tasks', '')")
    refuse_to_migrate(old_url, rf"has schema 15; .* Run `callboard migrate` of release {OLDEST}")


def test_a_database_whose_migration_to_the_release_before_was_interrupted_is_refused(old_url: str) -> None:
    """What a release repairs after its migrations is repaired by that release only."""
    with psycopg.connect(old_url, autocommit=True) as connection:
        connection.execute("TRUNCATE callboard.schema_version")
    refuse_to_migrate(
        old_url, rf"to schema {OLDEST} is not complete. Run `callboard migrate` of release {OLDEST} first"
    )


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
