"""A failover with asynchronous replication: the new primary has not seen the last commits of the old one. What was
acknowledged in them is lost, but nothing runs twice at once, and nobody writes with a right that is lost."""

from collections.abc import Callable
from pathlib import Path

import pytest

import actors  # noqa: F401
import tests.support.journalactors  # noqa: F401
from state import get_task, submit
from state.errors import TaskNotFound
from state.workers.registry import list_workers
from tests.machines.conftest import LEASE, Pair
from tests.machines.verdict import find_doubled, find_executions, now
from tests.support.eventually import eventually
from tests.support.workers import WorkerTree

Start = Callable[..., WorkerTree]


def test_executions_that_the_new_primary_has_never_seen(pair: Pair, start_workers: Start, tmp_path: Path) -> None:
    file = tmp_path / "journal"

    def ask(actor: str, seconds: float) -> str:
        return submit(actor, {"journal": str(file), "seconds": seconds}).task_id

    tree = start_workers(processes=2, threads=2)
    before = [ask("journal_slow", 2) for _ in range(4)]  # all threads are busy
    eventually(lambda: all(find_executions(file, each) for each in before))
    unseen = [ask("journal_calls", 5), ask("journal_block", 5)]  # queued, as the replica knows
    pair.wait_for_replica()

    pair.primary.stop_sending()
    eventually(lambda: all(get_task(each).status == "completed" for each in before))
    eventually(lambda: all(find_executions(file, each) for each in unseen), what="both have begun")
    forgotten = ask("journal_slow", 0)
    eventually(lambda: get_task(forgotten).status == "completed")
    workers = {row["id"] for row in list_workers()}
    pair.fail_over()
    failed_over = now()
    pair.replica.execute("DELETE FROM callboard.workers")  # as if they had registered after the last commit here

    with pytest.raises(TaskNotFound):
        get_task(forgotten)
    eventually(lambda: all(get_task(each).finished for each in [*before, *unseen]), timeout=60)
    assert {get_task(each).status for each in [*before, *unseen]} == {"completed"}

    # The same epoch was given twice: by the old primary, and by the new one. Never at the same time, though.
    assert find_doubled(file, LEASE) == []
    for each in unseen:
        assert len({run.epoch for run in find_executions(file, each)}) == 1, find_executions(file, each)
        assert len(find_executions(file, each)) == 2
    old, new = find_executions(file, unseen[0])
    assert [call for call in old.calls if call.name == "save" and call.result == "ok" and call.at > failed_over] == []
    [(saved,)] = pair.replica.execute(f"SELECT checkpoint FROM callboard.tasks WHERE id = '{unseen[0]}'")
    assert min(saved.values()) > new.begin

    # Code that does not stop costs its process, under the same pid; nobody was started by hand.
    assert tree.process.poll() is None
    assert workers & {row["id"] for row in list_workers()}
    assert pair.replica.execute("SELECT * FROM admin.invariants") == []
