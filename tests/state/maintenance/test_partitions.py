"""Partitions of the history are made ahead, whatever has happened meanwhile, and no row is ever refused."""

import threading
from datetime import timedelta

import psycopg
import pytest

from state import submit
from state.database import fetch
from state.maintenance.partitions import make_partition
from tests.roles.conftest import address_of  # noqa: F401
from tests.support.clock import Clock
from tests.support.observer import Observer

DAY = 86400.0
FILL = (
    "INSERT INTO callboard.events SELECT callboard.first_id(callboard.now() - interval '1 s' * n), n, 'log', "
    "to_jsonb((SELECT string_agg(md5(random()::text), '') FROM generate_series(1, 50) WHERE n > 0)), callboard.now() "
    "FROM generate_series(1, 11000) AS n"
)


def make_partitions() -> list[str]:
    return list(iter(make_partition, None))


def months(connection: Observer, ahead: list[int]) -> list[str]:
    query = (
        "SELECT to_char(date_trunc('month', callboard.now()) + make_interval(months => m), '_YYYY_MM') AS m "
        "FROM unnest(%s::int[]) AS m"
    )
    return [row["m"] for row in connection.execute(query, [ahead])]


def add_event(connection: Observer, when: str, n: int = 1) -> str:
    """Adds an event of a task that is created at this time. Returns its id."""
    row = connection.execute(
        f"INSERT INTO callboard.events SELECT callboard.first_id({when}), %s, 'log', '{{}}', callboard.now() "
        "RETURNING task_id",
        [n],
    ).fetchone()
    assert row is not None
    task_id: str = row["task_id"]
    return task_id


def place_of(connection: Observer, task_id: str) -> str:
    name: str = connection.fetch_one(
        "SELECT DISTINCT tableoid::regclass::text AS name FROM callboard.events WHERE task_id = %s", [task_id]
    )["name"]
    return name.removeprefix("callboard.")


def test_months_are_made_ahead_once(connection: Observer, clock: Clock) -> None:
    two, three = months(connection, [2, 3])  # the first two months have one partition
    assert make_partitions() == [f"events{two}", f"events{three}", f"attempts{two}", f"attempts{three}"]
    assert make_partitions() == []
    clock.advance(31 * DAY)
    [last] = months(connection, [3])
    assert make_partitions() == [f"events{last}", f"attempts{last}"]
    assert place_of(connection, add_event(connection, "callboard.now()")) == "events_before"
    task_id = add_event(connection, "callboard.now() + interval '2 months'")
    assert place_of(connection, task_id) == f"events{months(connection, [2])[0]}"
    rows = connection.execute("SELECT * FROM admin.partitions WHERE parent = 'events'").fetchall()
    described = {row["name"]: (row["created_from"], row["created_before"]) for row in rows}
    assert described["events_later"] == (None, None)
    begins, ends = described[f"events{last}"]
    assert begins.day == ends.day == 1
    assert timedelta(days=28) <= ends - begins <= timedelta(days=31)
    assert described["events_before"][1] == described[f"events{two}"][0]


def test_after_a_year_without_a_maintainer_rows_stay_where_they_are(connection: Observer, clock: Clock) -> None:
    make_partitions()
    clock.advance(400 * DAY)
    missed = add_event(connection, "callboard.now() - interval '60 days'")
    current = add_event(connection, "callboard.now()")
    strange = add_event(connection, "callboard.now() + interval '10 years'")  # a clock that is wrong
    assert {place_of(connection, each) for each in (missed, current, strange)} == {"events_later"}
    made = make_partitions()
    assert made[:3] == [f"events{month}" for month in months(connection, [1, 2, 3])]
    assert f"attempts{months(connection, [0])[0]}" in made  # of which nothing was written
    assert {place_of(connection, each) for each in (missed, current, strange)} == {"events_later"}
    assert [event["n"] for event in fetch_events(current)] == [1]
    assert place_of(connection, add_event(connection, "callboard.now()", 2)) == "events_later"
    assert make_partitions() == []


def fetch_events(task_id: str) -> list[dict[str, object]]:
    return fetch("events_of_many", {"ids": [task_id], "afters": [0], "limit": 100})


def test_a_large_remainder_is_never_read_while_others_wait_for_it(connection: Observer, clock: Clock) -> None:
    clock.advance(150 * DAY)
    connection.execute(FILL)
    assert connection.fetch_one("SELECT pg_relation_size('callboard.events_later') AS size")["size"] > 16 * 1024**2
    notices: list[str] = []
    connection.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
    connection.execute("SET client_min_messages = debug1")

    def step() -> str:
        made: str = connection.fetch_one("SELECT callboard.make_partition() AS step")["step"]
        add_event(connection, "callboard.now()", 1_000_000 + len(made) + len(notices))  # nothing is refused meanwhile
        return made

    [two] = months(connection, [2])
    assert [step() for _ in range(3)] == [
        "constraint of events_later added", "constraint of events_later validated", f"events{two}",
    ]  # fmt: skip
    assert any("default partition" in each and "implied by existing constraints" in each for each in notices), notices
    assert make_partitions()[-1].startswith("attempts")
    found = connection.execute("SELECT FROM pg_constraint WHERE conname = 'nothing_of_month'").fetchall()
    assert found == []


def test_a_constraint_that_was_left_is_gone_before_its_month_comes(connection: Observer, clock: Clock) -> None:
    clock.advance(150 * DAY)
    connection.execute(FILL)
    connection.execute("SELECT callboard.make_partition()")  # and the maintainer dies
    clock.advance(31 * DAY)
    assert (
        connection.fetch_one("SELECT callboard.make_partition() AS step")["step"]
        == "constraint of events_later dropped"
    )
    clock.advance(31 * DAY)
    assert place_of(connection, add_event(connection, "callboard.now()")) == "events_later"
    assert make_partitions()
    assert make_partitions() == []


def test_two_makers_and_a_reader_in_the_way(connection: Observer, database_url: str) -> None:
    with psycopg.connect(database_url) as other:
        other.execute("SELECT callboard.make_partition()")
        assert make_partitions() == []  # the other has not committed
        other.rollback()
        other.execute("SELECT count(*) FROM callboard.events_later")  # a transaction that stays open
        assert make_partitions() == []
        assert submit("quick", {}).task_id
    results: list[list[str]] = []
    threads = [threading.Thread(target=lambda: results.append(make_partitions())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    made = [name for result in results for name in result] + make_partitions()
    assert len(made) == len(set(made)) == 4
    assert make_partitions() == []


def test_a_worker_makes_partitions_and_the_api_does_not(connection: Observer, database_url: str) -> None:
    url = database_url.replace("://postgres@", "://callboard_{}@")
    with (
        psycopg.connect(url.format("api"), autocommit=True) as api,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        api.execute("SELECT callboard.make_partition()")
    with psycopg.connect(url.format("worker"), autocommit=True) as worker:
        row = worker.execute("SELECT callboard.make_partition()").fetchone()
        assert row == (f"events{months(connection, [2])[0]}",)
        worker.execute(
            "INSERT INTO callboard.events "
            "VALUES (callboard.first_id(now() + interval '2 months'), 1, 'log', '{}', now())"
        )
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            worker.execute("CREATE TABLE callboard.another ()")
