"""How the rights are applied: with every change of the schema, and also where roles cannot be made."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from state.database.pool import get_database
from state.schema import roles
from state.schema.files import SchemaFile, schema_files
from state.schema.migration import apply_pending, migrate, script
from state.schema.roles import explain_missing_roles
from tests.conftest import settings_for
from tests.roles.conftest import AddressOf
from tests.support.observer import Observer
from tests.support.postgres import TestPostgres


def may_read(url: str, name: str) -> bool:
    with psycopg.connect(url, autocommit=True) as connection:
        try:
            connection.execute(f"SELECT FROM {name}".encode())
        except psycopg.errors.InsufficientPrivilege:
            return False
    return True


def test_a_view_that_is_made_again_and_a_right_that_was_lost_come_back(
    connection: Observer, address_of: AddressOf
) -> None:
    connection.execute("REVOKE SELECT ON callboard.tasks FROM callboard_api")
    connection.execute("UPDATE callboard.applied_files SET digest = 'another' WHERE name = 'views/tasks'")
    assert not may_read(address_of("api"), "callboard.tasks")
    assert migrate() == ["views/tasks"]
    assert may_read(address_of("api"), "callboard.tasks")
    assert may_read(address_of("reader"), "admin.tasks")
    assert script() == "-- Nothing to do.\n"


def test_rights_are_applied_by_the_next_migrate_after_an_interruption(
    connection: Observer, address_of: AddressOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All files are applied, and then the process dies."""
    connection.execute("REVOKE SELECT ON callboard.tasks FROM callboard_api")
    connection.execute("UPDATE callboard.applied_files SET digest = 'another' WHERE name = 'functions/settle'")
    with get_database().connect("migrate", direct=True) as own, monkeypatch.context() as without:
        without.setattr("state.schema.migration.grant_roles", lambda _: None)
        assert [step.name for step in apply_pending(own)] == ["functions/settle"]
    assert not may_read(address_of("api"), "callboard.tasks")
    assert script() != "-- Nothing to do.\n"
    assert migrate() == []
    assert may_read(address_of("api"), "callboard.tasks")


def test_a_right_that_is_not_listed_is_taken_away(connection: Observer, address_of: AddressOf) -> None:
    """As when a release takes a right back."""
    connection.execute("GRANT ALL ON callboard.api_keys TO callboard_worker, callboard_reader, PUBLIC")
    connection.execute("GRANT ALL ON SCHEMA callboard TO callboard_reader")
    connection.execute("UPDATE callboard.applied_files SET digest = 'another' WHERE name = 'roles/grants'")
    assert may_read(address_of("worker"), "callboard.api_keys")
    assert migrate() == []
    assert not may_read(address_of("worker"), "callboard.api_keys")
    assert not may_read(address_of("reader"), "callboard.api_keys")


@contextmanager
def empty_database(postgres: TestPostgres, login: str, options: str, folder: Path) -> Iterator[str]:
    """A database of a login of its own, as on a managed Postgres."""
    name = f"managed_{uuid4().hex[:12]}"
    postgres.execute(f"CREATE ROLE {login} LOGIN {options}")
    postgres.execute(f"CREATE DATABASE {name} OWNER {login}")
    url = postgres.url(name).replace("://postgres@", f"://{login}@")
    try:
        with settings_for(url, folder):
            yield url
    finally:
        postgres.execute(f"DROP DATABASE {name} WITH (FORCE)")
        postgres.execute(f"DROP ROLE {login}")


@pytest.fixture
def other_names(monkeypatch: pytest.MonkeyPatch, postgres: TestPostgres) -> Iterator[Callable[[str], str]]:
    """The same rights for roles with other names: the tests' server has ours already."""
    mark = uuid4().hex[:8]
    [file] = schema_files("roles")
    renamed = SchemaFile(file.name, file.text.replace("callboard_", f"cb{mark}_"))
    monkeypatch.setattr(roles, "schema_files", lambda _: (renamed,))
    yield lambda role: f"cb{mark}_{role}"
    for role in ("api", "worker", "reader"):
        postgres.execute(f"DROP ROLE IF EXISTS cb{mark}_{role}")


def test_migrate_makes_the_roles_if_it_may(
    postgres: TestPostgres, other_names: Callable[[str], str], tmp_path: Path
) -> None:
    with empty_database(postgres, "managed_with", "CREATEROLE", tmp_path) as url:
        migrate()
        assert explain_missing_roles() is None
        with psycopg.connect(url) as connection:
            made = connection.execute(
                "SELECT rolname, rolcanlogin, rolsuper FROM pg_roles WHERE rolname LIKE %s ORDER BY 1",
                [f"{other_names('')}%"],
            ).fetchall()
        assert made == [(other_names(role), False, False) for role in ("api", "reader", "worker")]
        postgres.execute(f"CREATE ROLE managed_app LOGIN IN ROLE {other_names('reader')}")
        try:
            assert may_read(url.replace("managed_with", "managed_app"), "admin.tasks")
            assert not may_read(url.replace("managed_with", "managed_app"), "callboard.tasks")
        finally:
            postgres.execute("DROP ROLE managed_app")


def test_without_the_right_to_make_roles_everything_else_works_and_the_message_says_what_to_do(
    postgres: TestPostgres, other_names: Callable[[str], str], tmp_path: Path
) -> None:
    with empty_database(postgres, "managed_without", "", tmp_path) as url:
        assert migrate() != []
        reason = explain_missing_roles()
        assert reason is not None
        commands = "; ".join(f"CREATE ROLE {other_names(role)}" for role in ("api", "reader", "worker"))
        assert f"As an administrator: {commands}; then run `callboard migrate` again." in reason
        assert may_read(url, "admin.tasks")
        for role in ("api", "worker", "reader"):  # the administrator does as it says
            postgres.execute(f"CREATE ROLE {other_names(role)}")
        assert migrate() == []
        assert explain_missing_roles() is None
        with psycopg.connect(url) as connection:
            granted = "SELECT has_table_privilege(%s, 'admin.tasks', 'SELECT')"
            assert connection.execute(granted, [other_names("reader")]).fetchone() == (True,)
        assert script() == "-- Nothing to do.\n"
