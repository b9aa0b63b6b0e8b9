"""Plain Dramatiq actors: dramatiq-pg's table and protocol, with a consumer of our own."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import dramatiq
import psycopg
import pytest
from dramatiq import Message
from dramatiq_pg.broker import PostgresConsumer, message_lock
from dramatiq_pg.utils import make_pool

import actors  # noqa: F401  (sets the broker)
from broker.adapter.plain import PlainConsumer
from tests.support import testactors
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.support.workers import WorkerTree

Start = Callable[..., WorkerTree]


@pytest.fixture(autouse=True)
def own_pool(database_url: str) -> Iterator[None]:
    """The pool of dramatiq-pg is opened once in a process, and each test has another database."""
    dramatiq.get_broker().close()
    yield
    dramatiq.get_broker().close()


def send_many(connection: Observer, file: Path, count: int, queue: str = "plain") -> None:
    """Sends like the actor's own send, but all in one statement, and without a notification."""
    message = testactors.plain.message(str(file), "").asdict() | {"queue_name": queue}
    connection.execute(
        """
        INSERT INTO dramatiq.queue (message_id, queue_name, state, message)
        SELECT id, %(queue)s, 'queued', %(message)s::jsonb || jsonb_build_object('message_id', id, 'args',
               jsonb_build_array(%(file)s::text, n::text))
        FROM (SELECT gen_random_uuid() AS id, n FROM generate_series(1, %(count)s) AS n) AS new
        """,
        {"queue": queue, "message": psycopg.types.json.Jsonb(message), "file": str(file), "count": count},
    )


def states(connection: Observer) -> dict[str, int]:
    rows = connection.execute("SELECT state::text, count(*) AS n FROM dramatiq.queue GROUP BY state").fetchall()
    return {row["state"]: row["n"] for row in rows}


def wait_for(connection: Observer, done: int, timeout: float = 60) -> None:
    eventually(lambda: states(connection) == {"done": done}, timeout, 0.1, what="all are done")


def numbers(file: Path) -> Counter[int]:
    return Counter(int(line) for line in file.read_text().split())


def advisory_locks(connection: Observer) -> int:
    row = connection.fetch_one(
        "SELECT count(*) AS n FROM pg_locks l JOIN pg_database d ON d.oid = l.database "
        "WHERE l.locktype = 'advisory' AND d.datname = current_database()"
    )
    return int(row["n"])


@pytest.fixture
def consumer(database_url: str) -> Iterator[Callable[..., PlainConsumer]]:
    made: list[PlainConsumer] = []

    def make(queue: str = "plain", prefetch: int = 4) -> PlainConsumer:
        made.append(PlainConsumer(queue, prefetch, 200))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def stock(database_url: str) -> Iterator[PostgresConsumer]:
    """The consumer of dramatiq-pg itself, on the same table."""
    pool = make_pool(database_url)
    consumer = PostgresConsumer(pool=pool, queue_name="plain", prefetch=4, timeout=1000)
    yield consumer
    consumer.close()
    pool.closeall()


def take(consumer: Any, tries: int = 20) -> Any:
    return next((message for _ in range(tries) if (message := next(consumer)) is not None), None)


def test_two_processes_run_each_message_exactly_once(worker: Start, connection: Observer, tmp_path: Path) -> None:
    file = tmp_path / "out"
    count = 20_000
    send_many(connection, file, count)
    worker(processes=2, threads=8)
    wait_for(connection, count)
    assert numbers(file) == Counter(range(1, count + 1))
    eventually(lambda: advisory_locks(connection) == 0, what="locks freed")


def test_messages_of_a_killed_process_are_soon_delivered_again(
    worker: Start, connection: Observer, tmp_path: Path
) -> None:
    file = tmp_path / "out"
    count = 10_000
    worker(threads=8)
    killed = worker(threads=8)
    send_many(connection, file, count)
    eventually(lambda: file.exists() and len(file.read_text().splitlines()) > count / 10)
    killed.kill()
    wait_for(connection, count)
    ran = numbers(file)
    assert set(ran) == set(range(1, count + 1))
    assert sum(ran.values()) <= count + 16  # again only what the dead process had taken


def test_messages_that_a_killed_process_was_running_are_soon_run_again(
    worker: Start, connection: Observer, tmp_path: Path
) -> None:
    file = tmp_path / "out"
    killed = worker(threads=2)
    testactors.plain_sleep.send(str(file), 600)
    eventually(file.exists)
    worker(threads=2)
    begun = time.monotonic()
    killed.kill()
    eventually(lambda: len(file.read_text().splitlines()) == 2, 20)
    assert time.monotonic() - begun < 10


def test_a_lock_is_freed_only_after_the_end_is_committed(
    consumer: Callable[..., PlainConsumer], stock: PostgresConsumer, connection: Observer, tmp_path: Path
) -> None:
    """Otherwise another consumer could take the message for abandoned in between, and run it again."""
    send_many(connection, tmp_path / "out", 1)
    ours = consumer()
    message = take(ours)
    with connection.transaction():  # the end cannot be written
        connection.execute("SELECT FROM dramatiq.queue FOR UPDATE")
        ours.ack(message)
        assert advisory_locks(connection) == 1
        assert take(stock, 3) is None
    assert take(ours, 5) is None
    assert states(connection) == {"done": 1}
    assert advisory_locks(connection) == 0
    assert take(stock, 3) is None


def test_consumers_of_dramatiq_pg_and_ours_share_a_queue(
    consumer: Callable[..., PlainConsumer], stock: PostgresConsumer, connection: Observer, tmp_path: Path
) -> None:
    send_many(connection, tmp_path / "out", 8)
    ours = consumer()
    taken = [take(ours) for _ in range(4)]
    theirs = [take(stock) for _ in range(4)]
    ids = {message.message_id for message in taken + theirs}
    assert len(ids) == 8
    deadline = time.monotonic() + 4  # several looks for what is abandoned
    while time.monotonic() < deadline:
        assert next(ours) is None
    for message in taken:
        ours.ack(message)
    for message in theirs:
        stock.ack(message)
    assert take(ours, 5) is None
    assert states(connection) == {"done": 8}


def test_locks_have_the_keys_of_dramatiq_pg(connection: Observer) -> None:
    for queue in ("plain", "plain.DQ", "grün"):
        for _ in range(50):
            message: Message[Any] = Message(queue, "x", (), {}, {}, message_id=str(uuid4()))
            row = connection.fetch_one("SELECT callboard.plain_lock(%s, %s::uuid) AS key", [queue, message.message_id])
            assert row["key"] == message_lock(message)


def test_a_lost_connection_loses_no_end_and_no_held_message(
    consumer: Callable[..., PlainConsumer], connection: Observer, tmp_path: Path
) -> None:
    send_many(connection, tmp_path / "out", 2)
    ours, other = consumer(), consumer()
    first, second = take(ours), take(ours)
    assert take(other, 3) is None
    connection.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'callboard plain' "
        "AND datname = current_database()"
    )
    ours.ack(first)
    eventually(lambda: take(ours, 1) is None and states(connection) == {"done": 1, "consumed": 1})
    deadline = time.monotonic() + 4
    while time.monotonic() < deadline:
        assert next(other) is None
    ours.ack(second)
    assert take(ours, 2) is None
    assert states(connection) == {"done": 2}


def test_an_end_whose_body_cannot_be_stored_does_not_stop_others(
    consumer: Callable[..., PlainConsumer], connection: Observer, tmp_path: Path
) -> None:
    send_many(connection, tmp_path / "out", 2)
    ours = consumer()
    first, second = take(ours), take(ours)
    first.options["traceback"] = "\x00"
    ours.nack(first)
    ours.ack(second)
    eventually(lambda: take(ours, 1) is None and states(connection) == {"done": 1, "rejected": 1})


def test_a_message_that_cannot_be_decoded_is_rejected(
    consumer: Callable[..., PlainConsumer], connection: Observer, tmp_path: Path
) -> None:
    connection.execute(
        "INSERT INTO dramatiq.queue (message_id, queue_name, state, message) "
        "VALUES (gen_random_uuid(), 'plain', 'queued', '{}')"
    )
    send_many(connection, tmp_path / "out", 1)
    ours = consumer()
    ours.ack(take(ours))
    eventually(lambda: take(ours, 1) is None and states(connection) == {"done": 1, "rejected": 1})


def test_messages_that_were_not_run_are_given_back_at_the_end(
    consumer: Callable[..., PlainConsumer], connection: Observer, tmp_path: Path
) -> None:
    send_many(connection, tmp_path / "out", 10)
    ours, other = consumer(), consumer(prefetch=10)
    running, waiting = take(ours), take(ours)
    assert states(connection) == {"consumed": 4, "queued": 6}
    ours.requeue([waiting])
    ours.ack(running)
    ours.close()
    assert states(connection) == {"done": 1, "queued": 9}
    assert len({take(other).message_id for _ in range(9)}) == 9


def test_delayed_messages_are_taken_when_they_are_due(worker: Start, connection: Observer, tmp_path: Path) -> None:
    """Messages that are due later take no place and no lock, however many there are."""
    file = tmp_path / "out"
    for n in range(20):
        testactors.plain.send_with_options(args=(str(file), str(n)), delay=3_600_000)
    testactors.plain.send_with_options(args=(str(file), "100"), delay=1500)
    begun = time.monotonic()
    worker(threads=2)
    eventually(lambda: file.exists() and numbers(file) == Counter([100]))
    assert time.monotonic() - begun > 0.5
    eventually(lambda: states(connection) == {"done": 1, "queued": 20})
    eventually(lambda: advisory_locks(connection) == 0, what="the lock of the message that is done is free")
