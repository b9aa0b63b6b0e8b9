"""What the code of an async actor starts: it ends with the code, and harms nobody else."""

from collections.abc import Callable
from pathlib import Path

from state import get_task, submit
from tests.broker.test_coroutines import ACTORS, all_inside, lines, submit_waits
from tests.broker.test_worker import ended
from tests.support.eventually import eventually
from tests.support.observer import Observer
from tests.support.workers import WorkerTree

Start = Callable[..., WorkerTree]


def test_nothing_that_the_code_has_started_goes_on_beside_its_next_attempt(worker: Start, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    worker(actors=ACTORS)
    task = ended(submit("leaves_children", {"journal": str(journal)}).task_id)
    assert (task.status, task.attempt) == ("dead", 2)
    assert journal.read_text().splitlines() == ["began 1", "gone 1", "began 2", "gone 2"]


def test_code_that_wants_to_exit_ends_its_own_task_only(worker: Start, tmp_path: Path) -> None:
    journal, door = tmp_path / "journal", tmp_path / "door"
    tree = worker(actors=ACTORS)
    [beside] = submit_waits(journal, 1, until=str(door))
    all_inside(journal, 1)
    exiting = ended(submit("exits_in_a_child", {"journal": str(journal)}).task_id)
    assert (exiting.status, (exiting.error or {})["type"]) == ("dead", "SystemExit")
    door.touch()
    task = ended(beside)
    assert (task.status, task.attempt) == ("completed", 1)
    assert tree.process.poll() is None


def test_the_connection_of_a_transaction_ends_with_its_block(
    worker: Start, tmp_path: Path, connection: Observer
) -> None:
    """By then, another task may have it."""
    connection.execute("CREATE TABLE bookings (task_id text)")
    journal = tmp_path / "journal"
    worker(actors=ACTORS)
    assert ended(submit("books_late", {"journal": str(journal)}).task_id).status == "completed"
    eventually(lambda: lines(journal, "refused") == ["the block of ctx.transaction() has ended"])
    assert connection.fetch_one("SELECT count(*) AS n FROM bookings")["n"] == 0


def test_a_shutdown_that_comes_out_of_a_group_burns_no_attempt(worker: Start, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    tree = worker(actors=ACTORS, grace_seconds=0.1)
    task_id = submit("sits_in_a_group", {"journal": str(journal)}).task_id
    all_inside(journal, 1)
    tree.terminate()
    tree.wait()
    task = get_task(task_id)
    assert (task.status, task.attempt) == ("queued", 0)
