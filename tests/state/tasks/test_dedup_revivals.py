"""A dedup key has one live holder, also when dead tasks are revived."""

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import psycopg
import pytest

from state import (
    DedupKeyTaken,
    IllegalTransition,
    NewTask,
    cancel,
    get_task,
    redrive,
    resume,
    retry,
    submit,
    submit_many,
)
from state.database.statements import statement
from tests.support.builders import TaskBuilder
from tests.support.clock import Clock
from tests.support.eventually import eventually
from tests.support.observer import Observer


@pytest.fixture
def dead(make_task: TaskBuilder) -> Callable[..., str]:
    """Makes a dead letter with a dedup key, and returns its id."""
    return lambda key="k", **options: make_task("dead", dedup_key=key, **options).task_id


def live(connection: Observer, key: str = "k") -> list[str]:
    query = "SELECT id FROM callboard.tasks WHERE dedup_key = %s AND status NOT IN ('completed', 'canceled', 'dead')"
    return [row["id"] for row in connection.execute(query, [key])]


REVIVALS: dict[str, Callable[[str], object]] = {
    "retry": retry,
    "retry with another payload": lambda task_id: retry(task_id, {"edited": True}),
    "resume": resume,
}


@pytest.mark.parametrize("revive", REVIVALS.values(), ids=REVIVALS)
def test_a_dead_task_is_not_revived_beside_another_with_its_key(
    dead: Callable[..., str], connection: Observer, revive: Callable[[str], object]
) -> None:
    first = dead()
    second = submit("quick", {}, dedup_key="k").task_id
    with pytest.raises(DedupKeyTaken) as refused:
        revive(first)
    assert (refused.value.task_id, refused.value.holder) == (first, second)
    assert get_task(first).status == "dead"
    cancel(second)
    revive(first)
    assert live(connection) == [first]
    assert submit("quick", {}, dedup_key="k").task_id == first


def test_a_revived_task_holds_its_key_for_as_long_as_at_first(dead: Callable[..., str], clock: Clock) -> None:
    task_id = dead(dedup_ttl_seconds=60)
    clock.advance(50)
    retry(task_id)
    clock.advance(50)
    assert submit("quick", {}, dedup_key="k").task_id == task_id
    clock.advance(11)
    assert submit("quick", {}, dedup_key="k").task_id != task_id


def test_a_redrive_skips_those_whose_key_is_held_and_revives_one_for_each_key(
    dead: Callable[..., str], make_task: TaskBuilder, connection: Observer
) -> None:
    held = dead("held")
    holder = submit("quick", {}, dedup_key="held").task_id
    free = dead("free")
    twins = [dead("twin"), dead("twin")]
    others_twin = dead("twin", tenant="acme")
    make_task("dead")
    foreseen = redrive(all=True, dry_run=True)
    assert (foreseen.tasks, foreseen.skipped) == (4, 2)
    done = redrive(all=True)
    assert (done.tasks, done.skipped, sum(group["tasks"] for group in done.groups)) == (4, 2, 6)
    assert (live(connection, "held"), live(connection, "free")) == ([holder], [free])
    assert sorted(live(connection, "twin")) == [twins[0], others_twin]
    assert get_task(held).status == "dead"
    assert redrive(all=True).skipped == 2


def test_a_revival_that_waited_for_a_submit_sees_its_task(
    dead: Callable[..., str], connection: Observer, database_url: str
) -> None:
    task_id = dead()
    with ThreadPoolExecutor(1) as pool:
        with psycopg.connect(database_url) as own:
            holder = submit("quick", {}, dedup_key="k", conn=own).task_id
            reviving = pool.submit(retry, task_id)
            eventually(lambda: waits(connection), what="it waits for the key")
        with pytest.raises(DedupKeyTaken):
            reviving.result(30)
    assert live(connection) == [holder]


def test_a_submit_that_waited_for_a_revival_sees_its_task(
    dead: Callable[..., str], connection: Observer, database_url: str
) -> None:
    task_id = dead()
    with ThreadPoolExecutor(1) as pool:
        with psycopg.connect(database_url) as own:
            parameters = dict.fromkeys(("edited", "wanted", "scope", "by")) | {"ids": [task_id], "why": "retried"}
            own.execute(statement("revive"), parameters)
            submitting = pool.submit(submit, "quick", {}, dedup_key="k")
            eventually(lambda: waits(connection), what="it waits for the key")
        task = submitting.result(30)
    assert (task.task_id, task.deduplicated) == (task_id, True)
    assert live(connection) == [task_id]


def waits(connection: Observer) -> bool:
    query = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    return connection.execute(query).fetchone() is not None


def _retry_any_dead(own: Observer) -> None:
    for row in own.execute(ANY_DEAD).fetchall():
        with suppress(DedupKeyTaken, IllegalTransition):
            retry(row["id"])


STORM: dict[str, Callable[[Observer], object]] = {
    "submit": lambda _: submit("quick", {}, dedup_key="k"),
    "batch": lambda _: submit_many([NewTask("quick", {}, dedup_key=key) for key in ("k", "other")]),
    "redrive": lambda _: redrive(all=True),
    "retry": _retry_any_dead,
    "die": lambda own: own.execute(DEATH),
}
DEATH = "UPDATE callboard.tasks SET status = 'dead', finished_at = callboard.now() WHERE status = 'queued'"
ANY_DEAD = "SELECT id FROM callboard.tasks WHERE status = 'dead' AND dedup_key = 'k' ORDER BY random() LIMIT 1"


def test_a_key_never_has_two_live_holders(connection: Observer, database_url: str) -> None:
    """Submits, revivals of all kinds and deaths at the same time."""
    failures: list[BaseException] = []

    def work(choices: random.Random) -> None:
        try:
            with Observer.open(database_url) as own:
                for _ in range(40):
                    STORM[choices.choice(list(STORM))](own)
                    assert len(live(own)) <= 1
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=[random.Random(seed)]) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert failures == []
    reasons = "SELECT DISTINCT data ->> 'reason' AS reason FROM callboard.events"
    assert {"retried", "redriven"} <= {row["reason"] for row in connection.execute(reasons)}


def test_a_scheduled_retry_that_dies_during_a_revival_does_not_take_a_key_that_is_held(
    connection: Observer, database_url: str
) -> None:
    """The task was not dead when the revival looked for its key, so it was not checked whether the key is free."""
    task_id = submit("quick", {}, dedup_key="k").task_id
    connection.execute("UPDATE callboard.tasks SET status = 'running'")
    connection.execute("UPDATE callboard.tasks SET status = 'scheduled', lane = 'retry'")
    with ThreadPoolExecutor(1) as pool:
        with psycopg.connect(database_url) as own:
            own.execute("UPDATE callboard.tasks SET status = 'dead' WHERE id = %s", [task_id])
            holder = submit("quick", {}, dedup_key="k", conn=own).task_id
            reviving = pool.submit(retry, task_id)
            eventually(lambda: waits(connection), what="it waits for the task")
        with pytest.raises(IllegalTransition):
            reviving.result(30)
    assert live(connection) == [holder]
