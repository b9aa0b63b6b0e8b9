"""The history gets its partitions while everything writes to it, and while the migration is interrupted anywhere."""

import psycopg
import pytest

from state.database import connect
from state.schema.files import schema_files
from state.schema.migration import migrate
from tests.support.observer import Observer

FILE = next(file for file in schema_files("migrations") if file.name == "migrations/0032_partitions")
NOW = "'tq_' || lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint), 12, '0')"
IDS = {
    "before": f"{NOW} || '1'",
    "old": "'tq_000000000001'",
    "project": "'pj_1'",
    "workflow": "'wf_1'",
    "far": "'tq_fff'",  # made by a clock that is wrong
}
PLACES = {
    "before": "events_before",
    "old": "events_before",
    "project": "events_of_projects",
    "workflow": "events_of_workflows",
    "far": "events_later",
}


def add(connection: Observer, n: int) -> None:
    """As all releases write: to the table by its name."""
    for expression in IDS.values():
        connection.execute(
            "INSERT INTO callboard.events (task_id, n, kind, at, data) "
            f"SELECT {expression}, %s, 'status', now(), '{{}}'",
            [n],
        )
    for name in ("before", "old", "far"):
        connection.execute(
            "INSERT INTO callboard.attempts (task_id, epoch, attempt, worker_id, outcome, started_at, finished_at) "
            f"SELECT {IDS[name]}, %s, 1, 'w', 'completed', now(), now()",
            [n],
        )


def check(connection: Observer, last: int) -> None:
    """Every row is there once, for whoever reads by id and for whoever reads all."""
    numbers = list(range(1, last + 1))
    for row in connection.execute(
        "SELECT task_id, array_agg(n ORDER BY n) AS numbers FROM callboard.events GROUP BY 1"
    ).fetchall():
        assert row["numbers"] == numbers, row
        query = "SELECT n FROM callboard.events WHERE task_id = %s AND n > 0 ORDER BY n"
        assert [each["n"] for each in connection.execute(query, [row["task_id"]])] == numbers, row
    rows = connection.execute("SELECT count(*) AS n FROM callboard.attempts GROUP BY task_id").fetchall()
    assert [row["n"] for row in rows] == [last] * 3


def run_statement(text: str) -> None:
    with connect("migrate", direct=True) as migrator:
        migrator.execute("SET lock_timeout = '2s'")
        migrator.execute(text.encode(), prepare=False)


@pytest.fixture
def ids(connection: Observer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The id of now stays the same for the whole test."""
    now = connection.fetch_one(f"SELECT {NOW} AS id")["id"]
    monkeypatch.setitem(IDS, "before", f"'{now}1'")


def test_everything_is_found_once_after_each_statement_and_again(ids: None, connection: Observer) -> None:
    add(connection, 1)
    number = 1
    for text in FILE.statements():
        for _ in range(2):  # interrupted after it, and done again from its beginning
            run_statement(text)
            number += 1
            add(connection, number)
            check(connection, number)
    for name, expression in IDS.items():
        found = connection.execute(
            f"SELECT DISTINCT tableoid::regclass::text AS place FROM callboard.events WHERE task_id = {expression}"
        ).fetchall()
        assert [row["place"] for row in found] == [f"callboard.{PLACES[name]}"], name
    migrate()
    check(connection, number)
    left = (
        "SELECT conname FROM pg_constraint "
        "WHERE conrelid::regclass::text ~ '^callboard.(events|attempts)' AND contype = 'c'"
    )
    assert connection.execute(left).fetchall() == []
    assert connection.execute("SELECT FROM pg_trigger WHERE tgname = 'keep_apart'").fetchall() == []


def test_no_row_of_a_task_is_read_or_written_under_the_lock(ids: None, connection: Observer, old_url: str) -> None:
    """The last statements exchange tables: what they would have to read is proved by constraints."""
    add(connection, 1)
    statements = list(FILE.statements())
    swaps = [text for text in statements if "ATTACH PARTITION" in text]
    assert len(swaps) == 2
    for text in statements:
        if text not in swaps:
            run_statement(text)
            continue
        with psycopg.connect(old_url, autocommit=True) as migrator:
            notices: list[str] = []
            migrator.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))  # noqa: B023
            migrator.execute("SET client_min_messages = debug1")
            migrator.execute(text.encode())
            table = "events" if "events_before" in text else "attempts"
            for name in (
                f"{table}_before",
                *(["events_of_projects", "events_of_workflows"] if table == "events" else []),
            ):
                assert any(f'"{name}" is implied by existing constraints' in each for each in notices), (name, notices)
            assert not any("verifying table" in each for each in notices if "_later" not in each), notices
    check(connection, 1)


def test_processes_with_a_role_of_their_own_write_on_after_the_exchange(
    ids: None, connection: Observer, old_url: str
) -> None:
    url = old_url.replace("://postgres@", "://callboard_worker@")
    with Observer.open(url) as worker:
        insert = "INSERT INTO callboard.events (task_id, n, kind, at, data) VALUES (%s, %s, 'log', now(), '{}')"
        for number, text in enumerate(FILE.statements(), 1):
            run_statement(text)
            for task_id in ("tq_000000000001", "wf_1", "tq_fff"):
                worker.execute(insert, [task_id, number], prepare=True)
            found = worker.execute("SELECT n FROM callboard.events WHERE task_id = 'wf_1'", prepare=True).fetchall()
            assert len(found) == number
