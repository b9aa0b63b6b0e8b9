"""Submits whose connection is lost, or that run at the same time: all tasks or none, and never twice."""

import itertools
import threading
from typing import Any

import psycopg
import pytest

from state import NewTask, cancel, get_task, submit, submit_many
from tests.support.lostanswers import LostAnswers
from tests.support.observer import Observer


@pytest.fixture
def lost(monkeypatch: pytest.MonkeyPatch) -> LostAnswers:
    return LostAnswers(monkeypatch)


def count(connection: Observer) -> int:
    row: Any = connection.execute("SELECT count(*) AS n FROM callboard.tasks").fetchone()
    return int(row["n"])


def finish(connection: Observer, dedup_key: str, status: str = "canceled") -> None:
    connection.execute("UPDATE callboard.tasks SET status = %s WHERE dedup_key = %s", [status, dedup_key])


def test_a_large_batch_whose_commit_was_lost_is_there_once(lost: LostAnswers, connection: Observer) -> None:
    lost.of_commit()
    ids = submit_many([NewTask("quick", {"n": number}) for number in range(1500)])
    assert (lost.lost, count(connection)) == (1, 1500)
    assert [get_task(ids[number]).payload for number in (0, 999, 1000, 1499)] == [
        {"n": 0}, {"n": 999}, {"n": 1000}, {"n": 1499},
    ]  # fmt: skip


@pytest.mark.parametrize("error", [psycopg.errors.DeadlockDetected, psycopg.OperationalError])
def test_a_batch_that_was_rolled_back_is_tried_again_as_a_whole(
    connection: Observer, monkeypatch: pytest.MonkeyPatch, error: type[psycopg.Error]
) -> None:
    from state.tasks import submission

    real, tries = submission.insert_many, 0

    def fail_in_the_second_chunk(rows: Any, **options: Any) -> Any:
        nonlocal tries
        tries += 1
        if tries == 2:
            raise error("no luck")
        return real(rows, **options)

    monkeypatch.setattr(submission, "insert_many", fail_in_the_second_chunk)
    ids = submit_many([NewTask("quick", {}, dedup_key="k"), *(NewTask("quick", {}) for _ in range(1500))])
    assert (tries, len(set(ids)), count(connection)) == (4, 1501, 1501)


def test_a_batch_with_keys_whose_commit_was_lost_answers_the_same_ids(lost: LostAnswers, connection: Observer) -> None:
    """Also when its own tasks, and those that held a key, have ended meanwhile, and others have taken the keys."""
    holder = submit("quick", {}, dedup_key="held").task_id
    others: list[str] = []

    def meanwhile() -> None:
        for key in ("held", "own"):
            finish(connection, key)
            others.append(submit("quick", {}, dedup_key=key).task_id)

    lost.of_commit(then=meanwhile)
    tasks = [NewTask("quick", {}, dedup_key=key) for key in ("own", "held", "own")]
    ids = submit_many([*tasks, NewTask("quick", {})])
    assert (ids[1], ids[2]) == (holder, ids[0])
    assert not set(ids) & set(others)
    assert len(set(ids)) == 3
    assert count(connection) == 3 + len(others)


def test_a_keyed_submit_whose_commit_was_lost_answers_its_task_although_that_has_ended(
    lost: LostAnswers, connection: Observer
) -> None:
    lost.of_commit(then=lambda: finish(connection, "k", "dead"))
    task = submit("quick", {}, dedup_key="k")
    assert (task.status, task.deduplicated, count(connection)) == ("dead", False, 1)


def test_a_keyed_submit_whose_commit_was_lost_answers_its_task_although_another_has_the_key_now(
    lost: LostAnswers, connection: Observer
) -> None:
    heirs: list[str] = []

    def meanwhile() -> None:
        finish(connection, "k")
        heirs.append(submit("quick", {}, dedup_key="k").task_id)

    lost.of_commit(then=meanwhile)
    task = submit("quick", {"mine": True}, dedup_key="k")
    assert (task.status, task.payload, task.deduplicated) == ("canceled", {"mine": True}, False)
    assert submit("quick", {}, dedup_key="k").task_id == heirs[0]
    assert count(connection) == 2


def test_two_callers_with_the_same_keys_in_another_order_never_deadlock(database_url: str) -> None:
    keys = [f"k{number}" for number in range(300)]
    start = threading.Barrier(2)
    answers: dict[bool, list[str]] = {}
    failures: list[Exception] = []

    def work(backwards: bool) -> None:
        order = list(reversed(keys)) if backwards else keys
        with psycopg.connect(database_url) as own:
            start.wait()
            try:
                ids = submit_many([NewTask("quick", {}, dedup_key=key) for key in order], conn=own)
                answers[backwards] = list(reversed(ids)) if backwards else ids
            except psycopg.Error as failure:
                failures.append(failure)

    threads = [threading.Thread(target=work, args=[backwards]) for backwards in (True, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert answers[True] == answers[False]
    assert len(set(answers[True])) == 300


def test_nothing_is_repeated_inside_the_callers_own_transaction(
    lost: LostAnswers, connection: Observer, database_url: str
) -> None:
    lost.of_statement("submit", done=False)
    with psycopg.connect(database_url) as own, pytest.raises(psycopg.OperationalError):
        submit_many([NewTask("quick", {}, dedup_key="k"), NewTask("quick", {})], conn=own)
    assert (lost.lost, count(connection)) == (1, 0)
    assert not submit("quick", {}, dedup_key="k").deduplicated


def test_a_batch_is_all_or_nothing(connection: Observer) -> None:
    submit("quick", {}, dedup_key="k")
    with pytest.raises(Exception, match="priority"):
        submit_many([NewTask("quick", {}, dedup_key="new"), NewTask("quick", {}, priority=9)])
    assert count(connection) == 1
    first = submit("quick", {}, dedup_key="new")
    assert not first.deduplicated
    cancel(first.task_id)


def test_submits_whose_backends_are_killed_are_neither_lost_nor_doubled(
    connection: Observer, database_url: str
) -> None:
    """Real lost connections, at any point of a transaction. A submit is repeated a limited number of times, so the next
    connection is cut only when every caller has got an answer since the last one."""
    answers: dict[str, str] = {}  # by what a payload says
    failures: list[BaseException] = []
    killed: list[Any] = []
    submits = [0, 0, 0]  # that each caller has had answered
    over = threading.Event()

    def submit_all(worker: int) -> None:
        try:
            for turn in itertools.count():
                if turn >= 10 and len(killed) >= 3:
                    return
                name = f"{worker}.{turn}"
                batch = [NewTask("quick", {"name": f"{name}.{n}"}, dedup_key=f"{name}.{n}") for n in range(40)]
                ids = submit_many([*batch, NewTask("quick", {"name": f"{name}.plain"})])
                answers.update({task.payload["name"]: task_id for task, task_id in zip(batch, ids, strict=False)})
                answers[f"{name}.plain"] = ids[-1]
                answers[name] = submit("quick", {"name": name}, dedup_key=name).task_id
                submits[worker] += 1
        except BaseException as failure:
            failures.append(failure)

    def kill_backends() -> None:
        one = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
            "AND application_name = 'callboard' AND state <> 'idle' ORDER BY random() LIMIT 1"
        )
        with psycopg.connect(database_url, autocommit=True, application_name="killer") as own:
            before = [-1, -1, -1]
            while not over.wait(0.01):
                if all(now > then for now, then in zip(submits, before, strict=True)) and (
                    found := own.execute(one).fetchall()
                ):
                    before = list(submits)
                    killed.extend(found)

    killer = threading.Thread(target=kill_backends)
    workers = [threading.Thread(target=submit_all, args=[number]) for number in range(3)]
    for thread in [killer, *workers]:
        thread.start()
    for thread in workers:
        thread.join(120)
    over.set()
    killer.join()
    assert failures == []
    assert killed
    rows = connection.execute("SELECT id, payload ->> 'name' AS name FROM callboard.tasks").fetchall()
    assert len(rows) == len(answers)
    assert {row["name"]: row["id"] for row in rows} == answers
