"""Dedup keys: one task of many submits."""

import threading

from state import NewTask, cancel, submit, submit_many
from tests.support.clock import Clock
from tests.support.observer import Observer


def test_a_hundred_submits_with_one_dedup_key(connection: Observer) -> None:
    ids: list[str] = []
    start = threading.Barrier(20)

    def work() -> None:
        start.wait()
        ids.extend(submit("quick", {}, dedup_key="k").task_id for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(ids) == 100
    assert len(set(ids)) == 1
    assert connection.execute("SELECT count(*) AS n FROM callboard.tasks").fetchone() == {"n": 1}


def test_a_dedup_key_is_free_when_its_task_is_finished_or_its_time_is_over(clock: Clock) -> None:
    first = submit("quick", {}, dedup_key="k")
    assert not first.deduplicated
    again = submit("quick", {"other": 1}, dedup_key="k")
    assert (again.task_id, again.deduplicated) == (first.task_id, True)
    assert submit("slow", {}, dedup_key="k").task_id != first.task_id
    assert submit("quick", {}, dedup_key="k", tenant="t").task_id != first.task_id
    cancel(first.task_id)
    second = submit("quick", {}, dedup_key="k", dedup_ttl_seconds=60)
    assert second.task_id != first.task_id
    clock.advance(61)
    assert submit("quick", {}, dedup_key="k").task_id not in (first.task_id, second.task_id)


def test_a_batch_with_the_same_key_twice() -> None:
    ids = submit_many([NewTask("quick", {}, dedup_key="k"), NewTask("quick", {}), NewTask("quick", {}, dedup_key="k")])
    assert ids[0] == ids[2] != ids[1]
