"""Which release works with which database."""

from collections.abc import Callable

import pytest

from state.errors import NotReady
from state.schema.migration import migrate, script
from state.schema.version import SUPPORTS, VERSION, require_current_schema
from tests.support.observer import Observer

SetVersion = Callable[[int, int], None]


@pytest.fixture
def set_version(connection: Observer) -> SetVersion:
    def set_version(version: int, supports: int) -> None:
        connection.execute("UPDATE callboard.schema_version SET version = %s, supports = %s", [version, supports])

    return set_version


def test_the_version_is_the_number_of_the_highest_migration(connection: Observer) -> None:
    names = connection.fetch_one("SELECT max(name) AS newest FROM callboard.applied_files WHERE name ~ '^migrations'")
    assert f"migrations/{VERSION:04}" in names["newest"]
    row = connection.execute("SELECT version, supports FROM callboard.schema_version").fetchone()
    assert row == {"version": VERSION, "supports": SUPPORTS}
    require_current_schema()


def test_a_newer_schema_that_supports_this_release_is_fine(set_version: SetVersion) -> None:
    set_version(VERSION + 7, VERSION)
    require_current_schema()


def test_an_older_schema_has_to_be_migrated(set_version: SetVersion) -> None:
    set_version(VERSION - 1, SUPPORTS)
    with pytest.raises(NotReady, match=rf"schema {VERSION - 1}; this release needs {VERSION}. Run `callboard migrate`"):
        require_current_schema()


def test_a_release_that_is_too_old_for_the_schema_is_told_to_be_upgraded(set_version: SetVersion) -> None:
    set_version(VERSION + 7, VERSION + 1)
    with pytest.raises(NotReady, match=rf"too old .* from {VERSION + 1} on. Upgrade this release"):
        require_current_schema()


def test_a_database_without_a_version_has_to_be_migrated(connection: Observer) -> None:
    connection.execute("DELETE FROM callboard.schema_version")
    with pytest.raises(NotReady, match="Run `callboard migrate`"):
        require_current_schema()
    connection.execute("DROP TABLE callboard.schema_version")
    with pytest.raises(NotReady, match="Run `callboard migrate`"):
        require_current_schema()


def test_a_changed_function_turns_nobody_away_and_is_applied_by_the_next_migrate(
    connection: Observer,
) -> None:
    connection.execute("UPDATE callboard.applied_files SET digest = 'another' WHERE name = 'functions/settle'")
    require_current_schema()
    assert migrate() == ["functions/settle"]
    assert migrate() == []


def test_an_applied_migration_is_never_due_again(connection: Observer) -> None:
    connection.execute("UPDATE callboard.applied_files SET digest = 'another' WHERE name LIKE 'migrations/%'")
    assert migrate() == []


def test_a_view_that_was_dropped_is_made_again(connection: Observer) -> None:
    connection.execute("DROP VIEW admin.gates, admin.workers")
    assert migrate() == ["views/gates", "views/workers"]
    assert migrate() == []


def test_migrate_of_an_older_release_changes_nothing(connection: Observer, set_version: SetVersion) -> None:
    set_version(VERSION + 1, VERSION)
    connection.execute("UPDATE callboard.applied_files SET digest = 'newer' WHERE name LIKE 'functions/%'")
    connection.execute("DROP VIEW admin.gates")
    assert migrate() == []
    assert script() == "-- Nothing to do.\n"
    row = connection.execute(
        "SELECT version, supports, to_regclass('admin.gates') AS view, "
        "(SELECT count(*) FROM callboard.applied_files WHERE digest <> 'newer' AND name LIKE 'functions/%') AS changed "
        "FROM callboard.schema_version"
    ).fetchone()
    assert row == {"version": VERSION + 1, "supports": VERSION, "view": None, "changed": 0}


def test_migrate_of_a_release_that_is_too_old_says_so(set_version: SetVersion) -> None:
    set_version(VERSION + 2, VERSION + 1)
    with pytest.raises(NotReady, match="Upgrade this release"):
        migrate()
