"""`callboard migrate` as a command."""

from state.schema.version import VERSION
from tests.cli.command import answer, refusal, succeed
from tests.support.observer import Observer


def test_the_sql_is_printed_and_not_run(connection: Observer) -> None:
    assert succeed("migrate", "--sql") == "-- Nothing to do.\n"
    connection.execute("DROP VIEW admin.gates")
    printed = succeed("migrate", "--sql")
    assert "-- views/gates\nBEGIN;\n" in printed
    assert "CREATE VIEW admin.gates" in printed
    assert answer("migrate", "--sql") == {"sql": printed}
    assert connection.execute("SELECT to_regclass('admin.gates') AS view").fetchone() == {"view": None}
    assert "Applied: views/gates." in succeed("migrate")


def test_an_older_release_says_that_it_changes_nothing(connection: Observer) -> None:
    connection.execute("UPDATE callboard.schema_version SET version = version + 1, supports = version")
    connection.execute("DROP VIEW admin.gates")
    said = succeed("migrate")
    assert f"Nothing was changed: the database has schema {VERSION + 1}, which is newer" in said
    assert answer("migrate") == {"applied": []}
    succeed("list")
    connection.execute("UPDATE callboard.schema_version SET supports = version")
    for command in (["migrate"], ["migrate", "--sql"], ["list"]):
        assert "Upgrade this release" in refusal(5, *command)
    assert connection.execute("SELECT to_regclass('admin.gates') AS view").fetchone() == {"view": None}
