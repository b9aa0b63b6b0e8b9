"""ctx.transaction() in sync code of coroutines: few at once, whatever their number; the others can be stopped."""

from collections.abc import Callable
from pathlib import Path

from broker.execution.offload import TRANSACTIONS
from state import NewTask, cancel, get_task, submit, submit_many
from tests.broker.test_coroutines import ACTORS, all_inside, lines
from tests.broker.test_worker import ended
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.support.workers import WorkerTree

MANY = 40  # more than the pool has connections


def test_transactions_in_threads_leave_connections_for_others(
    worker: Callable[..., WorkerTree], tmp_path: Path, connection: Observer
) -> None:
    connection.execute("CREATE TABLE bookings (task_id text PRIMARY KEY)")
    journal, door = tmp_path / "journal", tmp_path / "door"
    worker(actors=ACTORS, threads=2, coroutines=MANY + 5)
    payload = {"journal": str(journal), "until": str(door)}
    ids = submit_many([NewTask("books_in_a_thread", payload) for _ in range(MANY)])
    all_inside(journal, MANY)
    eventually(lambda: len(lines(journal, "inside")) >= TRANSACTIONS)
    for task_id in submit_many([NewTask("saves", payload) for _ in range(3)]):
        assert ended(task_id).status == "completed"
    inside = lines(journal, "inside")
    assert len(inside) == TRANSACTIONS

    waiting = [task_id for task_id in ids if task_id not in inside]
    on_the_loop = submit("books", payload).task_id  # takes its turn in the same line
    for task_id in (waiting[0], inside[0]):
        cancel(task_id)
        assert ended(task_id).status == "canceled"
    eventually(lambda: len(lines(journal, "inside")) == TRANSACTIONS + 1, what="the place that is free is taken")
    assert get_task(on_the_loop).status == "running"

    door.touch()
    left = [task_id for task_id in [*ids, on_the_loop] if task_id not in (waiting[0], inside[0])]
    assert {(ended(task_id).status, get_task(task_id).result) for task_id in left} == {("completed", "booked")}
    rows = connection.execute("SELECT task_id FROM bookings").fetchall()
    assert sorted(row["task_id"] for row in rows) == sorted(left)
