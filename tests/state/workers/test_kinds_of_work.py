"""A claim for threads and coroutines, by a worker that knows some actors."""

from collections.abc import Callable

import pytest

from state import NewTask, get_events, get_task, submit, submit_many
from state.database import Connection
from state.gates.operations import put_gate
from state.gates.waking import sweep_lines, wake
from state.tasks import catalog
from state.tasks.catalog import STANDARD_POLICY, ActorSpec
from state.workers.leases import Claimed
from tests.state.gated import statuses
from tests.support.claims import FreePayload
from tests.support.observer import Observer

Take = Callable[..., list[Claimed]]


@pytest.fixture(autouse=True)
def more_actors(actors: None) -> None:
    for name, queue in (("breath", "async"), ("new", "one")):
        catalog.register(ActorSpec(name, queue, FreePayload, 3, lambda: None, 60, STANDARD_POLICY, ""))


def register(connection: Observer, worker: str, actors: list[str], queues: tuple[str, ...] = ("one",)) -> None:
    connection.execute(
        "INSERT INTO callboard.workers (id, host, boot_id, pid_namespace, pid, queues, threads, started_at, seen_at, "
        "actors) VALUES (%s, '', '', '', 1, %s, 1, now(), now(), %s)",
        [worker, list(queues), actors],
    )


def test_each_kind_has_its_own_places(take: Take) -> None:
    submit_many([NewTask("quick", {}) for _ in range(5)] + [NewTask("breath", {}) for _ in range(5)])
    claimed = take(2, coroutine_queues=["async"], coroutines=3)
    assert sorted(task.actor for task in claimed) == ["breath"] * 3 + ["quick"] * 2
    assert [task.actor for task in take(0, coroutine_queues=["async"], coroutines=9)] == ["breath"] * 2
    assert [task.actor for task in take(9, coroutine_queues=["async"])] == ["quick"] * 3


def test_only_threads_claim_ahead(take: Take) -> None:
    submit_many([NewTask("quick", {}) for _ in range(5)] + [NewTask("breath", {}) for _ in range(5)])
    claimed = take(1, ahead=2, short_actors=["quick", "breath"], coroutine_queues=["async"], coroutines=1)
    assert sorted(task.actor for task in claimed) == ["breath"] + ["quick"] * 3


def test_both_kinds_pass_one_gate_together(take: Take, connection: Observer) -> None:
    put_gate("tenant:t", max_concurrent=3)
    submit_many([NewTask(actor, {}, tenant="t") for actor in ("quick", "breath") for _ in range(3)])
    assert len(take(2, coroutine_queues=["async"], coroutines=4)) == 3
    assert connection.execute("SELECT * FROM admin.invariants").fetchall() == []


@pytest.mark.parametrize("crowd", ["quick", "breath"])
def test_a_crowd_of_one_kind_does_not_slow_the_other(
    worker_connection: Connection, take: Take, connection: Observer, crowd: str
) -> None:
    """Counted in entries of all indexes that are read, with plans and statistics from before the crowd came."""
    other = "breath" if crowd == "quick" else "quick"
    submit_many([NewTask(other, {}) for _ in range(80)])

    def claim() -> None:
        taken = take(0 if crowd == "quick" else 8, coroutine_queues=["async"], coroutines=8 if crowd == "quick" else 0)
        assert [task.actor for task in taken] == [other] * 8

    def entries_read() -> int:
        worker_connection.execute("SELECT pg_stat_force_next_flush()")
        row = connection.execute(
            "SELECT sum(idx_tup_read)::bigint AS n FROM pg_stat_user_indexes WHERE relname = 'tasks'"
        ).fetchone()
        assert row is not None
        return int(row["n"])

    claim()
    connection.execute(
        "INSERT INTO callboard.tasks (id, actor, queue, status, priority, rank, payload, max_attempts, available_at, "
        "created_at, updated_at) SELECT 'tq_0' || n, %s, %s, 'queued', 2, n, '{}', 1, now(), now(), now() "
        "FROM generate_series(1, 100000) AS n",
        [crowd, catalog.get(crowd).queue],
    )
    before = entries_read()
    for _ in range(5):
        claim()
    assert entries_read() - before < 5 * 1000


def test_a_task_that_no_worker_knows_waits_at_its_actors_gate(take: Take, connection: Observer) -> None:
    strange = [submit("new", {}).task_id for _ in range(3)]
    known = submit("quick", {}).task_id
    assert [task.id for task in take(4, known_actors=["quick", "slow"])] == [known]
    assert statuses(*strange) == ["waiting"] * 3
    task = get_task(strange[0])
    assert task.waiting is not None
    assert (task.waiting["gate"], task.waiting["reason"]) == ("actor:new", "no worker knows this actor")
    assert (task.attempt, task.epoch) == (0, 0)
    assert get_events(strange[0])[-1].data["gate"] == "actor:new"
    assert wake(["actor:new"]) == set()
    sweep_lines()
    assert statuses(*strange) == ["waiting"] * 3
    register(connection, "w2", ["quick", "new"])
    sweep_lines()
    assert statuses(*strange) == ["queued"] * 3
    assert len(take(9, worker="w2", known_actors=["quick", "new"])) == 3


def test_a_task_that_another_worker_knows_is_left_to_it(take: Take, connection: Observer) -> None:
    register(connection, "w2", ["new"])
    left = [submit("new", {}).task_id for _ in range(9)]
    known = submit("quick", {}).task_id
    assert [task.id for task in take(4, known_actors=["quick"])] == [known]
    assert statuses(*left) == ["queued"] * 9
    assert len(take(9, worker="w2", known_actors=["new"])) == 9


def test_a_worker_that_has_stopped_knows_nothing(take: Take, connection: Observer) -> None:
    register(connection, "w2", ["new"])
    connection.execute("UPDATE callboard.workers SET stopped_at = now()")
    left = submit("new", {}).task_id
    assert take(4, known_actors=["quick"]) == []
    assert statuses(left) == ["waiting"]


@pytest.mark.parametrize(("queues", "status"), [(("one",), "queued"), (("two",), "waiting")])
def test_a_worker_takes_tasks_of_its_queues_only(
    take: Take, connection: Observer, queues: tuple[str, ...], status: str
) -> None:
    register(connection, "w2", ["new"], queues)
    left = submit("new", {}).task_id
    assert take(4, known_actors=["quick"]) == []
    assert statuses(left) == [status]


def test_a_burst_of_unknown_tasks_does_not_stand_in_the_way(take: Take) -> None:
    submit_many([NewTask("new", {}) for _ in range(900)])
    known = submit("quick", {}).task_id
    assert [task.id for task in take(4, known_actors=["quick"])] == [known]
