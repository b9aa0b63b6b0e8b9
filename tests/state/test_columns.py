"""A new column must not break the statements of running processes: Postgres refuses to execute a prepared statement
whose result columns have changed (0A000), on every connection that has prepared it."""

import re
from collections.abc import Callable
from pathlib import Path

from state import get_task, list_tasks, submit
from state.database import Connection
from state.database.statements import numbered, parameters_of, statement
from state.tasks import deadletters, events, reads, targets
from state.workers.leases import Claimed
from tests.support.observer import Observer

SQL = Path(__file__).parents[2] / "state" / "sql"
QUERIES = sorted(
    path.stem
    for path in SQL.glob("*.sql")
    if re.match(r"(SELECT|WITH|INSERT|UPDATE|DELETE)\b", statement(path.stem)) and not path.stem.startswith("schema_")
)


def add_columns(connection: Observer) -> None:
    """Adds a column to every table, as a later release might."""
    tables = connection.execute(
        "SELECT relname AS tablename FROM pg_class "
        "WHERE relnamespace = 'callboard'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition"
    ).fetchall()
    assert len(tables) > 10
    for table in tables:
        connection.execute(f"ALTER TABLE callboard.{table['tablename']} ADD COLUMN added_later integer DEFAULT 7")


def stars(text: str) -> list[str]:
    """Returns the uses of `*` for columns that are not listed. `i.*` is fine if i has a list of columns, or is a common
    table expression or a function, which name their own."""
    named = set(re.findall(r"\bAS\s+(\w+)\s*\(", text))
    named |= set(re.findall(r"\b(\w+)\s+AS\s+(?:NOT\s+)?(?:MATERIALIZED\s+)?\(", text))
    named |= set(re.findall(r"([\w.]+)\(", text))
    used = re.findall(r"\b(\w+)\.\*", text) + re.findall(r"\bSELECT\s+\*\s+FROM\s+([\w.]+)", text)
    return [each for each in used if each not in named]


def test_statements_name_their_columns() -> None:
    assert stars("SELECT t.*, l.id FROM callboard.tasks t") == ["t"]
    assert stars("SELECT * FROM callboard.events e") == ["callboard.events"]
    for fine in (
        "SELECT count(*), 2 * 3 FROM callboard.tasks",
        "WITH a AS (SELECT id FROM b) SELECT * FROM a",
        "SELECT i.* FROM jsonb_to_recordset($1) AS i (id text)",
        "SELECT * FROM callboard.settle($1)",
    ):
        assert stars(fine) == []
    assert {name: found for name in QUERIES if (found := stars(statement(name)))} == {}


def test_no_answer_changes_with_a_new_column(connection: Observer) -> None:
    def answers(label: str) -> dict[str, list[bytes | None]]:
        found = {}
        for name in QUERIES:
            key = f"{label} {name}".encode()
            prepared = connection.pgconn.prepare(key, numbered(name, [True] * len(parameters_of(name))))
            assert not prepared.error_message, (name, prepared.error_message)
            described = connection.pgconn.describe_prepared(key)
            found[name] = [described.fname(place) for place in range(described.nfields)]
        return found

    before = answers("before")
    add_columns(connection)
    assert answers("after") == before


def test_connections_read_on_after_a_new_column(
    connection: Observer, take: Callable[..., list[Claimed]], worker_connection: Connection
) -> None:
    ids = [submit("quick", {}, tenant="acme", target="one").task_id for _ in range(3)]

    def read_everything() -> list[object]:
        return [
            [get_task(each, conn=worker_connection) for each in ids],
            get_task(ids[0]),
            reads.get_tasks_of_many(ids),
            list_tasks(),
            targets.list_target_tasks("one", tenant="acme"),
            deadletters.list_dead_letters(),
            events.get_events_of_many(dict.fromkeys(ids, 0), 10),
            reads.get_attempts(ids[0]),
        ]

    assert [claimed.id for claimed in take()] == ids[:1]
    take(3)  # the others wait at their target, so that the reason for waiting is read as well
    before = read_everything()
    assert {task.status for task in before[3]} == {"running", "waiting"}  # type: ignore[attr-defined]
    add_columns(connection)
    assert read_everything() == before
    assert take(3) == []  # the claim still works
