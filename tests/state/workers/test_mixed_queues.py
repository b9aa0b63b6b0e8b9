"""Claims from a queue that has tasks for threads (sync actors) and for coroutines (async actors)."""

import threading
from collections import Counter
from collections.abc import Callable

import pytest

from state import NewTask, submit, submit_many
from state.database import Connection, connect
from state.gates.operations import put_gate
from state.tasks import catalog
from state.tasks.catalog import STANDARD_POLICY, ActorSpec
from state.workers.leases import Claimed
from tests.state.gated import statuses
from tests.support.claims import FreePayload
from tests.support.observer import Observer

Mixed = Callable[..., list[Claimed]]

WINDOW = 256  # as in claim_tasks.sql


@pytest.fixture(autouse=True)
def more_actors(actors: None) -> None:
    for name in ("breath", "new"):
        catalog.register(ActorSpec(name, "one", FreePayload, 3, lambda: None, 60, STANDARD_POLICY, ""))


@pytest.fixture
def mixed(take: Callable[..., list[Claimed]]) -> Mixed:
    """Claims for so many threads and coroutines, of a worker in which `quick` is sync and `breath` is async."""

    def claim(threads: int = 0, coroutines: int = 0, **options: object) -> list[Claimed]:
        known = {"coroutine_queues": ["one"], "sync_actors": ["quick"], "async_actors": ["breath"]}
        return take(threads, queues=["one"], coroutines=coroutines, **(known | options))

    return claim


def actors_of(claimed: list[Claimed]) -> list[str]:
    return [task.actor for task in claimed]


@pytest.mark.parametrize(("first", "second"), [("quick", "breath"), ("breath", "quick")])
def test_each_kind_passes_the_tasks_of_the_other(mixed: Mixed, first: str, second: str) -> None:
    submit_many([NewTask(first, {}) for _ in range(50)] + [NewTask(second, {}) for _ in range(3)])
    places = (4, 0) if second == "quick" else (0, 4)
    assert actors_of(mixed(*places)) == [second] * 3
    assert mixed(*places) == []
    assert actors_of(mixed(*reversed(places))) == [first] * 4


def test_one_claim_takes_both_kinds_in_order(mixed: Mixed) -> None:
    ids = [submit("quick" if n % 2 else "breath", {}, priority=n % 3).task_id for n in range(24)]
    claimed = mixed(5, 7)
    assert Counter(actors_of(claimed)) == {"quick": 5, "breath": 7}
    for actor, odd, places in (("quick", 1, 5), ("breath", 0, 7)):
        own = sorted((n % 3, n) for n in range(24) if n % 2 == odd)[:places]
        assert [task.id for task in claimed if task.actor == actor] == [ids[n] for _, n in own]


def test_tenants_take_turns_within_a_kind(mixed: Mixed) -> None:
    submit_many([NewTask("breath", {}, tenant="big") for _ in range(30)])
    submit_many([NewTask("quick", {}, tenant="big") for _ in range(30)])
    submit_many([NewTask("quick", {}, tenant="small") for _ in range(3)])
    assert Counter(task.tenant for task in mixed(6))["small"] == 3


def test_lanes_share_the_starts_of_a_kind(mixed: Mixed, connection: Observer) -> None:
    submit_many([NewTask(actor, {}) for actor in ("quick", "breath") for _ in range(100)])
    connection.execute("UPDATE callboard.tasks SET lane = 'retry' WHERE id > (SELECT id FROM callboard.tasks "
                       "WHERE actor = 'breath' ORDER BY id OFFSET 50 LIMIT 1)")  # fmt: skip
    claimed = mixed(0, 20, retry_share=0.5)
    assert Counter(task.lane for task in claimed) == {"primary": 10, "retry": 10}
    assert set(actors_of(claimed)) == {"breath"}


def test_unknown_actors_are_parked_by_either_kind(mixed: Mixed) -> None:
    for places in ((4, 0), (0, 4)):
        strange = submit("new", {}).task_id
        assert mixed(*places, known_actors=["quick", "breath"]) == []
        assert statuses(strange) == ["waiting"]


def test_both_kinds_pass_one_gate(mixed: Mixed, connection: Observer) -> None:
    put_gate("tenant:t", max_concurrent=3)
    submit_many([NewTask(actor, {}, tenant="t") for _ in range(5) for actor in ("quick", "breath")])
    assert len(mixed(2, 9)) == 3
    assert mixed(9, 9) == []
    assert connection.execute("SELECT * FROM admin.invariants").fetchall() == []


def test_a_full_gate_of_one_kind_does_not_stop_the_other(mixed: Mixed) -> None:
    put_gate("tenant:t", max_concurrent=0)
    submit_many([NewTask("breath", {}, tenant="t") for _ in range(20)])
    submit_many([NewTask(actor, {}) for actor in ("quick", "breath") for _ in range(3)])
    assert Counter(actors_of(mixed(9, 9))) == {"quick": 3, "breath": 3}


def test_short_tasks_are_claimed_ahead_past_the_other_kind(mixed: Mixed) -> None:
    submit_many([NewTask(actor, {}) for _ in range(10) for actor in ("breath", "quick")])
    assert actors_of(mixed(1, 0, ahead=5, short_actors=["quick", "breath"])) == ["quick"] * 6


def test_a_queue_of_one_list_gives_all_its_tasks_to_that_kind(mixed: Mixed) -> None:
    """Also those of an actor of the other kind, which somebody has put there: they would never start otherwise."""
    submit_many([NewTask(actor, {}) for actor in ("quick", "breath")])
    assert sorted(actors_of(mixed(9, 0, coroutine_queues=[]))) == ["breath", "quick"]


def test_what_others_have_locked_is_passed(mixed: Mixed, connection: Observer) -> None:
    ids = [submit(actor, {}).task_id for _ in range(6) for actor in ("quick", "breath")]
    with connection.transaction():
        connection.execute("SELECT FROM callboard.tasks WHERE id = ANY (%s) FOR UPDATE", [ids[:8]])
        assert [task.id for task in mixed(0, 1)] == [ids[9]]


@pytest.mark.parametrize("crowd", ["quick", "breath"])
def test_a_crowd_of_one_kind_is_not_read_by_the_other(
    worker_connection: Connection, mixed: Mixed, connection: Observer, crowd: str
) -> None:
    """Counted in entries of all indexes that are read, with plans and statistics from before the crowd came."""
    other = "breath" if crowd == "quick" else "quick"
    places = (0, 8) if crowd == "quick" else (8, 0)
    own = [submit(other, {}).task_id for _ in range(40)]

    def entries_read() -> int:
        worker_connection.execute("SELECT pg_stat_force_next_flush()")
        counted = "SELECT sum(idx_tup_read)::bigint AS n FROM pg_stat_user_indexes WHERE relname = 'tasks'"
        return int(connection.fetch_one(counted)["n"])

    assert actors_of(mixed(*places)) == [other] * 8
    connection.execute(
        "INSERT INTO callboard.tasks (id, actor, queue, status, priority, rank, payload, max_attempts, available_at, "
        "created_at, updated_at) SELECT 'tq_1' || n, %s, 'one', 'queued', 2, n, '{}', 1, now(), now(), now() "
        "FROM generate_series(1, 20000) AS n",
        [crowd],
    )
    before = entries_read()
    for _ in range(5):
        assert mixed(*places) == []  # they are behind the crowd
    assert entries_read() - before < 5 * (WINDOW + 100)
    # Within the window they are found.
    connection.execute("UPDATE callboard.tasks SET rank = 100 WHERE id = ANY (%s)", [own])
    before = entries_read()
    assert [task.id for task in mixed(*places)] == own[8:16]
    assert entries_read() - before < 3 * (WINDOW + 100)


def test_two_workers_share_a_mixed_queue(mixed: Mixed) -> None:
    submit_many([NewTask(actor, {}) for _ in range(200) for actor in ("quick", "breath")])
    taken: list[str] = []
    errors: list[BaseException] = []
    start = threading.Barrier(4)

    def work(worker: str, threads: int, coroutines: int, own_kind: str) -> None:
        try:
            with connect("test") as own:
                start.wait()
                while batch := mixed(threads, coroutines, worker=worker, connection=own):
                    assert set(actors_of(batch)) == {own_kind}
                    taken.extend(task.id for task in batch)
        except BaseException as error:
            errors.append(error)

    kinds = [(7, 0, "quick"), (0, 7, "breath")]
    workers = [threading.Thread(target=work, args=(f"w{n}", *kinds[n % 2])) for n in range(4)]
    for each in workers:
        each.start()
    for each in workers:
        each.join(30)
    assert not errors
    while batch := mixed(9, 9):  # a claim may find all that it has seen taken by the other
        taken.extend(task.id for task in batch)
    assert len(taken) == len(set(taken)) == 400
