"""What a database must have been given before anybody works with it."""

import psycopg
import pytest

from state.errors import NotReady
from state.schema import migrate, require_current_schema


def test_an_applied_migration_is_never_due_again(connection: psycopg.Connection) -> None:
    connection.execute("UPDATE callboard.schema_files SET digest = 'another' WHERE name LIKE 'migrations/%'")
    require_current_schema()
    assert migrate() == []


def test_a_function_that_was_changed_is_applied_again(connection: psycopg.Connection) -> None:
    connection.execute("UPDATE callboard.schema_files SET digest = 'another' WHERE name = 'functions/claim'")
    with pytest.raises(NotReady, match=r"functions/claim.*callboard migrate"):
        require_current_schema()
    assert migrate() == ["functions/claim"]
    require_current_schema()


def test_a_missing_migration_is_named(connection: psycopg.Connection) -> None:
    connection.execute("DELETE FROM callboard.schema_files WHERE name = 'migrations/0010_prompts'")
    with pytest.raises(NotReady, match="0010_prompts"):
        require_current_schema()
